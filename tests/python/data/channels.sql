-- Reports over sales and returns by three channels, in the schema of TPC-DS: what its queries ask by name.
-- rollup_with_ranks
SELECT SUM(ss_net_profit) / SUM(ss_ext_sales_price) AS margin, i_category, i_class,
       GROUPING(i_category) + GROUPING(i_class) AS level,
       RANK() OVER (PARTITION BY GROUPING(i_category) + GROUPING(i_class),
                    CASE WHEN GROUPING(i_class) = 0 THEN i_category END
                    ORDER BY SUM(ss_net_profit) / SUM(ss_ext_sales_price)) AS rank_within
FROM store_sales, date_dim, item, store
WHERE d_year = 2001 AND d_date_sk = ss_sold_date_sk AND i_item_sk = ss_item_sk
  AND s_store_sk = ss_store_sk AND s_state IN ('TN', 'OH')
GROUP BY ROLLUP (i_category, i_class)
-- best_of_rollup
SELECT * FROM (
    SELECT i_category, i_class, i_brand, d_year, d_moy, s_state, sales,
           RANK() OVER (PARTITION BY i_category ORDER BY sales DESC) AS place
    FROM (SELECT i_category, i_class, i_brand, d_year, d_moy, s_state,
                 SUM(COALESCE(ss_ext_sales_price * ss_quantity, 0)) AS sales
          FROM store_sales, date_dim, store, item
          WHERE ss_sold_date_sk = d_date_sk AND ss_item_sk = i_item_sk AND ss_store_sk = s_store_sk
            AND d_month_seq BETWEEN 3 AND 14
          GROUP BY ROLLUP (i_category, i_class, i_brand, d_year, d_moy, s_state)) AS summed) AS ranked
WHERE place <= 5
-- states_by_rank
SELECT SUM(ss_net_profit) AS profit, s_state, s_store_sk, GROUPING(s_state) + GROUPING(s_store_sk) AS level,
       RANK() OVER (PARTITION BY GROUPING(s_state) + GROUPING(s_store_sk),
                    CASE WHEN GROUPING(s_store_sk) = 0 THEN s_state END
                    ORDER BY SUM(ss_net_profit) DESC) AS place
FROM store_sales, date_dim, store
WHERE d_month_seq BETWEEN 0 AND 11 AND d_date_sk = ss_sold_date_sk AND s_store_sk = ss_store_sk
  AND s_state IN (SELECT s_state
                  FROM (SELECT s_state, RANK() OVER (PARTITION BY s_state ORDER BY SUM(ss_net_profit) DESC) AS r
                        FROM store_sales, store, date_dim
                        WHERE d_date_sk = ss_sold_date_sk AND s_store_sk = ss_store_sk AND d_year = 2001
                        GROUP BY s_state) AS ranked
                  WHERE r <= 5)
GROUP BY ROLLUP (s_state, s_store_sk)
-- intersect_of_channels
SELECT COUNT(*) AS customers FROM (
    SELECT DISTINCT c_last_name, c_first_name, d_date FROM store_sales, date_dim, customer
    WHERE ss_sold_date_sk = d_date_sk AND ss_customer_sk = c_customer_sk AND d_month_seq BETWEEN 0 AND 11
    INTERSECT
    SELECT DISTINCT c_last_name, c_first_name, d_date FROM catalog_sales, date_dim, customer
    WHERE cs_sold_date_sk = d_date_sk AND cs_bill_customer_sk = c_customer_sk AND d_month_seq BETWEEN 0 AND 11
    INTERSECT
    SELECT DISTINCT c_last_name, c_first_name, d_date FROM web_sales, date_dim, customer
    WHERE ws_sold_date_sk = d_date_sk AND ws_bill_customer_sk = c_customer_sk AND d_month_seq BETWEEN 0 AND 11
) AS hot
-- except_of_channels
SELECT COUNT(*) AS only_in_stores FROM (
    (SELECT DISTINCT c_last_name, c_first_name, d_date FROM store_sales, date_dim, customer
     WHERE ss_sold_date_sk = d_date_sk AND ss_customer_sk = c_customer_sk)
    EXCEPT
    (SELECT DISTINCT c_last_name, c_first_name, d_date FROM catalog_sales, date_dim, customer
     WHERE cs_sold_date_sk = d_date_sk AND cs_bill_customer_sk = c_customer_sk)
    EXCEPT
    (SELECT DISTINCT c_last_name, c_first_name, d_date FROM web_sales, date_dim, customer
     WHERE ws_sold_date_sk = d_date_sk AND ws_bill_customer_sk = c_customer_sk)
) AS cool
-- cross_items
WITH cross_items AS (
    SELECT i_item_sk FROM item, (
        SELECT i_brand AS brand, i_class AS class FROM store_sales, item WHERE ss_item_sk = i_item_sk
        INTERSECT
        SELECT i_brand, i_class FROM catalog_sales, item WHERE cs_item_sk = i_item_sk
        INTERSECT
        SELECT i_brand, i_class FROM web_sales, item WHERE ws_item_sk = i_item_sk) AS everywhere
    WHERE i_brand = brand AND i_class = class),
average AS (
    SELECT AVG(quantity * price) AS average_sales FROM (
        SELECT ss_quantity AS quantity, ss_list_price AS price FROM store_sales
        UNION ALL SELECT cs_quantity, cs_list_price FROM catalog_sales
        UNION ALL SELECT ws_quantity, ws_list_price FROM web_sales) AS every)
SELECT channel, i_brand, i_class, SUM(sales) AS sales, SUM(number) AS number FROM (
    SELECT 'store' AS channel, i_brand, i_class, SUM(ss_quantity * ss_list_price) AS sales, COUNT(*) AS number
    FROM store_sales, item
    WHERE ss_item_sk IN (SELECT i_item_sk FROM cross_items) AND ss_item_sk = i_item_sk
    GROUP BY i_brand, i_class HAVING SUM(ss_quantity * ss_list_price) > (SELECT average_sales FROM average)
    UNION ALL
    SELECT 'web', i_brand, i_class, SUM(ws_quantity * ws_list_price), COUNT(*)
    FROM web_sales, item
    WHERE ws_item_sk IN (SELECT i_item_sk FROM cross_items) AND ws_item_sk = i_item_sk
    GROUP BY i_brand, i_class HAVING SUM(ws_quantity * ws_list_price) > (SELECT average_sales FROM average)
) AS sold
GROUP BY ROLLUP (channel, i_brand, i_class)
-- returns_above_average
WITH returned AS (
    SELECT sr_customer_sk AS customer, sr_store_sk AS store, SUM(sr_return_amt) AS amount
    FROM store_returns, date_dim WHERE sr_returned_date_sk = d_date_sk AND d_year = 2001
    GROUP BY sr_customer_sk, sr_store_sk)
SELECT c_last_name, amount FROM returned AS one, store, customer
WHERE amount > (SELECT AVG(amount) * 1.2 FROM returned AS other WHERE one.store = other.store)
  AND s_store_sk = store AND s_state = 'TN' AND customer = c_customer_sk
-- dear_items_by_state
SELECT c_state, COUNT(*) AS number FROM customer, store_sales, date_dim, item
WHERE c_customer_sk = ss_customer_sk AND ss_sold_date_sk = d_date_sk AND ss_item_sk = i_item_sk
  AND d_month_seq = (SELECT DISTINCT d_month_seq FROM date_dim WHERE d_year = 2001 AND d_moy = 1)
  AND i_current_price > 1.2 * (SELECT AVG(other.i_current_price) FROM item AS other
                               WHERE other.i_category = item.i_category)
GROUP BY c_state HAVING COUNT(*) >= 1
-- excess_discounts
SELECT SUM(ws_ext_sales_price) AS excess FROM web_sales, item, date_dim
WHERE i_category = 'Books' AND i_item_sk = ws_item_sk AND d_date_sk = ws_sold_date_sk AND d_year = 2001
  AND ws_ext_sales_price > (SELECT 1.3 * AVG(ws_ext_sales_price) FROM web_sales, date_dim
                            WHERE ws_item_sk = i_item_sk AND d_date_sk = ws_sold_date_sk AND d_year = 2001)
-- cumulative_full_join
WITH web AS (
    SELECT ws_item_sk AS item_sk, d_date,
           SUM(SUM(ws_ext_sales_price)) OVER (PARTITION BY ws_item_sk ORDER BY d_date
                                              ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS cume
    FROM web_sales, date_dim WHERE ws_sold_date_sk = d_date_sk AND ws_item_sk IS NOT NULL GROUP BY ws_item_sk, d_date),
shop AS (
    SELECT ss_item_sk AS item_sk, d_date,
           SUM(SUM(ss_ext_sales_price)) OVER (PARTITION BY ss_item_sk ORDER BY d_date
                                              ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS cume
    FROM store_sales, date_dim WHERE ss_sold_date_sk = d_date_sk AND ss_item_sk IS NOT NULL GROUP BY ss_item_sk, d_date)
SELECT * FROM (
    SELECT item_sk, d_date, web_sales, store_sales,
           MAX(web_sales) OVER (PARTITION BY item_sk ORDER BY d_date
                                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS web_so_far,
           MAX(store_sales) OVER (PARTITION BY item_sk ORDER BY d_date
                                  ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS store_so_far
    FROM (SELECT COALESCE(web.item_sk, shop.item_sk) AS item_sk, COALESCE(web.d_date, shop.d_date) AS d_date,
                 web.cume AS web_sales, shop.cume AS store_sales
          FROM web FULL OUTER JOIN shop ON web.item_sk = shop.item_sk AND web.d_date = shop.d_date) AS x) AS y
WHERE web_so_far > store_so_far
-- channels_full_join
WITH shop AS (SELECT ss_customer_sk AS customer_sk, ss_item_sk AS item_sk FROM store_sales GROUP BY 1, 2),
catalog AS (SELECT cs_bill_customer_sk AS customer_sk, cs_item_sk AS item_sk FROM catalog_sales GROUP BY 1, 2)
SELECT SUM(CASE WHEN shop.customer_sk IS NOT NULL AND catalog.customer_sk IS NULL THEN 1 ELSE 0 END) AS store_only,
       SUM(CASE WHEN shop.customer_sk IS NULL AND catalog.customer_sk IS NOT NULL THEN 1 ELSE 0 END) AS catalog_only,
       SUM(CASE WHEN shop.customer_sk IS NOT NULL AND catalog.customer_sk IS NOT NULL THEN 1 ELSE 0 END) AS both
FROM shop FULL OUTER JOIN catalog
  ON shop.customer_sk = catalog.customer_sk AND shop.item_sk = catalog.item_sk
-- days_as_columns
SELECT s_store_sk, s_state,
       SUM(CASE WHEN d_day_name = 'Sunday' THEN ss_ext_sales_price END) AS sunday,
       SUM(CASE WHEN d_day_name = 'Monday' THEN ss_ext_sales_price END) AS monday,
       SUM(CASE WHEN d_day_name = 'Friday' THEN ss_ext_sales_price ELSE NULL END) AS friday
FROM date_dim, store_sales, store
WHERE d_date_sk = ss_sold_date_sk AND s_store_sk = ss_store_sk AND d_year = 2001
GROUP BY s_store_sk, s_state ORDER BY s_state, s_store_sk, sunday LIMIT 100
-- weeks_year_over_year
WITH sales AS (
    SELECT ws_sold_date_sk AS date_sk, ws_ext_sales_price AS price FROM web_sales
    UNION ALL SELECT cs_sold_date_sk, cs_ext_sales_price FROM catalog_sales),
weeks AS (
    SELECT d_week_seq, SUM(CASE WHEN d_day_name = 'Sunday' THEN price END) AS sunday,
           SUM(CASE WHEN d_day_name = 'Friday' THEN price END) AS friday
    FROM sales, date_dim WHERE d_date_sk = date_sk GROUP BY d_week_seq)
SELECT this.d_week_seq, ROUND(this.sunday / after.sunday, 2) AS sunday, ROUND(this.friday / after.friday, 2) AS friday
FROM weeks AS this JOIN weeks AS after ON this.d_week_seq = after.d_week_seq - 4
-- share_of_class
SELECT i_item_sk, i_category, i_class, SUM(cs_ext_sales_price) AS revenue,
       SUM(cs_ext_sales_price) * 100 / SUM(SUM(cs_ext_sales_price)) OVER (PARTITION BY i_class) AS ratio
FROM catalog_sales, item, date_dim
WHERE cs_item_sk = i_item_sk AND i_category IN ('Books', 'Music') AND cs_sold_date_sk = d_date_sk
GROUP BY i_item_sk, i_category, i_class
-- months_beside_their_neighbours
WITH v1 AS (
    SELECT i_category, i_brand, s_state, d_year, d_moy, SUM(ss_ext_sales_price) AS sum_sales,
           AVG(SUM(ss_ext_sales_price)) OVER (PARTITION BY i_category, i_brand, s_state, d_year) AS average,
           RANK() OVER (PARTITION BY i_category, i_brand, s_state ORDER BY d_year, d_moy) AS rn
    FROM item, store_sales, date_dim, store
    WHERE ss_item_sk = i_item_sk AND ss_sold_date_sk = d_date_sk AND ss_store_sk = s_store_sk
    GROUP BY i_category, i_brand, s_state, d_year, d_moy)
SELECT v1.i_category, v1.i_brand, v1.s_state, v1.d_year, v1.d_moy, v1.average, v1.sum_sales,
       before.sum_sales AS psum, after.sum_sales AS nsum
FROM v1, v1 AS before, v1 AS after
WHERE v1.i_category = before.i_category AND v1.i_category = after.i_category
  AND v1.i_brand = before.i_brand AND v1.i_brand = after.i_brand
  AND v1.s_state = before.s_state AND v1.s_state = after.s_state
  AND v1.rn = before.rn + 1 AND v1.rn = after.rn - 1 AND v1.average > 0
  AND CASE WHEN v1.average > 0 THEN ABS(v1.sum_sales - v1.average) / v1.average END > 0.1
-- deviations_from_the_average
SELECT * FROM (
    SELECT i_brand, i_class, d_moy, SUM(ss_ext_sales_price) AS sum_sales,
           AVG(SUM(ss_ext_sales_price)) OVER (PARTITION BY i_brand) AS average
    FROM item, store_sales, date_dim
    WHERE ss_item_sk = i_item_sk AND ss_sold_date_sk = d_date_sk
      AND ((i_category IN ('Books', 'Home') AND i_class IN ('a', 'b'))
           OR (i_category IN ('Music') AND i_class IN ('b', 'c')))
    GROUP BY i_brand, i_class, d_moy) AS tmp
WHERE CASE WHEN average <> 0 THEN ABS(sum_sales - average) / average END > 0.1
-- active_customers
SELECT c_state, COUNT(*) AS number, AVG(c_birth_year) AS born, MAX(c_birth_year) AS latest
FROM customer AS c
WHERE EXISTS (SELECT * FROM store_sales, date_dim
              WHERE c.c_customer_sk = ss_customer_sk AND ss_sold_date_sk = d_date_sk AND d_year = 2001)
  AND (EXISTS (SELECT * FROM web_sales WHERE c.c_customer_sk = ws_bill_customer_sk)
       OR EXISTS (SELECT * FROM catalog_sales WHERE c.c_customer_sk = cs_bill_customer_sk))
GROUP BY c_state
-- orders_of_several_items
SELECT COUNT(DISTINCT ws_order_number) AS orders, SUM(ws_ext_sales_price) AS sales, SUM(ws_net_profit) AS profit
FROM web_sales AS ws1, date_dim
WHERE d_date_sk = ws_sold_date_sk
  AND EXISTS (SELECT * FROM web_sales AS ws2
              WHERE ws1.ws_order_number = ws2.ws_order_number AND ws1.ws_item_sk <> ws2.ws_item_sk)
  AND NOT EXISTS (SELECT * FROM web_returns WHERE ws1.ws_order_number = wr_order_number)
-- profit_of_channels
WITH ss AS (SELECT s_store_sk, SUM(ss_ext_sales_price) AS sales, SUM(ss_net_profit) AS profit
            FROM store_sales, store WHERE ss_store_sk = s_store_sk GROUP BY s_store_sk),
sr AS (SELECT s_store_sk, SUM(sr_return_amt) AS returns FROM store_returns, store
       WHERE sr_store_sk = s_store_sk GROUP BY s_store_sk),
ws AS (SELECT ws_item_sk AS item_sk, SUM(ws_ext_sales_price) AS sales, SUM(ws_net_profit) AS profit
       FROM web_sales GROUP BY ws_item_sk),
wr AS (SELECT wr_item_sk AS item_sk, SUM(wr_return_amt) AS returns FROM web_returns GROUP BY wr_item_sk)
SELECT channel, id, SUM(sales) AS sales, SUM(returns) AS returns, SUM(profit) AS profit FROM (
    SELECT 'store channel' AS channel, ss.s_store_sk AS id, sales, COALESCE(returns, 0) AS returns, profit
    FROM ss LEFT JOIN sr ON ss.s_store_sk = sr.s_store_sk
    UNION ALL
    SELECT 'web channel', ws.item_sk, sales, COALESCE(returns, 0), profit
    FROM ws LEFT JOIN wr ON ws.item_sk = wr.item_sk) AS x
GROUP BY ROLLUP (channel, id)
-- best_customers
WITH frequent AS (
    SELECT i_item_sk AS item_sk, d_date, COUNT(*) AS cnt FROM store_sales, date_dim, item
    WHERE ss_sold_date_sk = d_date_sk AND ss_item_sk = i_item_sk GROUP BY i_item_sk, d_date HAVING COUNT(*) > 1),
most AS (
    SELECT MAX(csales) AS cmax FROM (
        SELECT c_customer_sk, SUM(ss_quantity * ss_list_price) AS csales FROM store_sales, customer
        WHERE ss_customer_sk = c_customer_sk GROUP BY c_customer_sk) AS x),
best AS (
    SELECT c_customer_sk FROM store_sales, customer WHERE ss_customer_sk = c_customer_sk
    GROUP BY c_customer_sk HAVING SUM(ss_quantity * ss_list_price) > 0.5 * (SELECT cmax FROM most))
SELECT SUM(sales) AS sales FROM (
    SELECT cs_quantity * cs_list_price AS sales FROM catalog_sales
    WHERE cs_item_sk IN (SELECT item_sk FROM frequent)
      AND cs_bill_customer_sk IN (SELECT c_customer_sk FROM best)
    UNION ALL
    SELECT ws_quantity * ws_list_price FROM web_sales
    WHERE ws_item_sk IN (SELECT item_sk FROM frequent)
      AND ws_bill_customer_sk IN (SELECT c_customer_sk FROM best)) AS y
-- best_and_worst
SELECT up.rnk, best.i_brand AS best_performing, worst.i_brand AS worst_performing
FROM (SELECT * FROM (SELECT item_sk, RANK() OVER (ORDER BY rank_col ASC) AS rnk
                     FROM (SELECT ss_item_sk AS item_sk, AVG(ss_net_profit) AS rank_col FROM store_sales
                           GROUP BY ss_item_sk
                           HAVING AVG(ss_net_profit) > 0.9 * (SELECT AVG(ss_net_profit) FROM store_sales)) AS v) AS w
      WHERE rnk < 11) AS up,
     (SELECT * FROM (SELECT item_sk, RANK() OVER (ORDER BY rank_col DESC) AS rnk
                     FROM (SELECT ss_item_sk AS item_sk, AVG(ss_net_profit) AS rank_col FROM store_sales
                           GROUP BY ss_item_sk
                           HAVING AVG(ss_net_profit) > 0.9 * (SELECT AVG(ss_net_profit) FROM store_sales)) AS v) AS w
      WHERE rnk < 11) AS down, item AS best, item AS worst
WHERE up.rnk = down.rnk AND best.i_item_sk = up.item_sk AND worst.i_item_sk = down.item_sk
-- customers_year_over_year
WITH year_total AS (
    SELECT c_customer_sk, c_last_name, d_year, SUM(ss_list_price - ss_ext_sales_price) AS total, 's' AS sale_type
    FROM customer, store_sales, date_dim
    WHERE c_customer_sk = ss_customer_sk AND ss_sold_date_sk = d_date_sk GROUP BY c_customer_sk, c_last_name, d_year
    UNION ALL
    SELECT c_customer_sk, c_last_name, d_year, SUM(ws_list_price - ws_ext_sales_price), 'w'
    FROM customer, web_sales, date_dim
    WHERE c_customer_sk = ws_bill_customer_sk AND ws_sold_date_sk = d_date_sk GROUP BY c_customer_sk, c_last_name, d_year)
SELECT later.c_last_name
FROM year_total AS first, year_total AS later, year_total AS web_first, year_total AS web_later
WHERE later.c_customer_sk = first.c_customer_sk AND first.c_customer_sk = web_first.c_customer_sk
  AND first.c_customer_sk = web_later.c_customer_sk
  AND first.sale_type = 's' AND web_first.sale_type = 'w' AND later.sale_type = 's' AND web_later.sale_type = 'w'
  AND first.d_year = 2001 AND later.d_year = 2002 AND web_first.d_year = 2001 AND web_later.d_year = 2002
  AND first.total > 0 AND web_first.total > 0
  AND CASE WHEN web_first.total > 0 THEN web_later.total / web_first.total ELSE 0.0 END
      > CASE WHEN first.total > 0 THEN later.total / first.total ELSE 0.0 END
-- buckets_by_subqueries
SELECT CASE WHEN (SELECT COUNT(*) FROM store_sales WHERE ss_quantity BETWEEN 1 AND 3) > 6
            THEN (SELECT AVG(ss_ext_sales_price) FROM store_sales WHERE ss_quantity BETWEEN 1 AND 3)
            ELSE (SELECT AVG(ss_net_profit) FROM store_sales WHERE ss_quantity BETWEEN 1 AND 3) END AS bucket1,
       CASE WHEN (SELECT COUNT(*) FROM store_sales WHERE ss_quantity BETWEEN 4 AND 9) > 6
            THEN (SELECT AVG(ss_ext_sales_price) FROM store_sales WHERE ss_quantity BETWEEN 4 AND 9)
            ELSE (SELECT AVG(ss_net_profit) FROM store_sales WHERE ss_quantity BETWEEN 4 AND 9) END AS bucket2
FROM store WHERE s_store_sk = 1
-- prices_in_buckets
SELECT * FROM
    (SELECT AVG(ss_list_price) AS b1_lp, COUNT(ss_list_price) AS b1_cnt, COUNT(DISTINCT ss_list_price) AS b1_cntd
     FROM store_sales WHERE ss_quantity BETWEEN 0 AND 5 AND (ss_list_price BETWEEN 8 AND 18 OR ss_net_profit < 0)) AS b1,
    (SELECT AVG(ss_list_price) AS b2_lp, COUNT(ss_list_price) AS b2_cnt, COUNT(DISTINCT ss_list_price) AS b2_cntd
     FROM store_sales WHERE ss_quantity BETWEEN 6 AND 10) AS b2
-- ratio_of_two_counts
SELECT CAST(am AS DECIMAL(15, 4)) / CAST(pm AS DECIMAL(15, 4)) AS ratio
FROM (SELECT COUNT(*) AS am FROM web_sales, date_dim WHERE ws_sold_date_sk = d_date_sk AND d_day_name = 'Monday') AS a,
     (SELECT COUNT(*) AS pm FROM web_sales, date_dim WHERE ws_sold_date_sk = d_date_sk AND d_day_name <> 'Monday') AS b
-- steady_items
WITH sold AS (
    SELECT s_store_sk, i_item_sk, d_moy, STDDEV_SAMP(ss_quantity) AS stdev, AVG(ss_quantity) AS mean
    FROM store_sales, item, store, date_dim
    WHERE ss_item_sk = i_item_sk AND ss_store_sk = s_store_sk AND ss_sold_date_sk = d_date_sk AND d_year = 2001
    GROUP BY s_store_sk, i_item_sk, d_moy),
varied AS (
    SELECT *, CASE mean WHEN 0 THEN NULL ELSE stdev / mean END AS cov FROM sold
    WHERE CASE mean WHEN 0 THEN 0 ELSE stdev / mean END > 0.2)
SELECT one.s_store_sk, one.i_item_sk, one.d_moy, one.cov, next.d_moy AS moy2, next.cov AS cov2
FROM varied AS one, varied AS next
WHERE one.i_item_sk = next.i_item_sk AND one.s_store_sk = next.s_store_sk AND next.d_moy = one.d_moy + 1
-- sold_and_not_returned
SELECT d_year, ss_item_sk, SUM(ss_quantity) AS qty, SUM(ss_list_price) AS list
FROM store_sales
LEFT JOIN store_returns ON sr_ticket_number = ss_ticket_number AND ss_item_sk = sr_item_sk
JOIN date_dim ON ss_sold_date_sk = d_date_sk
WHERE sr_ticket_number IS NULL GROUP BY d_year, ss_item_sk
-- detail_of_all_channels
WITH all_sales AS (
    SELECT d_year, i_brand, SUM(cnt) AS cnt, SUM(amt) AS amt FROM (
        SELECT d_year, i_brand, cs_quantity - COALESCE(cr_return_quantity, 0) AS cnt,
               cs_ext_sales_price - COALESCE(cr_return_amount, 0.0) AS amt
        FROM catalog_sales JOIN item ON i_item_sk = cs_item_sk JOIN date_dim ON d_date_sk = cs_sold_date_sk
        LEFT JOIN catalog_returns ON cs_order_number = cr_order_number AND cs_item_sk = cr_item_sk
        UNION
        SELECT d_year, i_brand, ws_quantity - COALESCE(wr_return_quantity, 0),
               ws_ext_sales_price - COALESCE(wr_return_amt, 0.0)
        FROM web_sales JOIN item ON i_item_sk = ws_item_sk JOIN date_dim ON d_date_sk = ws_sold_date_sk
        LEFT JOIN web_returns ON ws_order_number = wr_order_number AND ws_item_sk = wr_item_sk) AS detail
    GROUP BY d_year, i_brand)
SELECT prev.d_year AS prev_year, curr.d_year AS year, curr.i_brand, prev.cnt AS prev_cnt, curr.cnt AS curr_cnt,
       curr.cnt - prev.cnt AS cnt_diff, curr.amt - prev.amt AS amt_diff
FROM all_sales AS curr, all_sales AS prev
WHERE curr.i_brand = prev.i_brand AND curr.d_year = 2002 AND prev.d_year = 2001
  AND CAST(curr.cnt AS DECIMAL(17, 2)) / CAST(prev.cnt AS DECIMAL(17, 2)) < 0.9
-- worst_return_ratios
SELECT channel, item, return_ratio, return_rank FROM (
    SELECT 'web' AS channel, item, return_ratio, return_rank FROM (
        SELECT item, return_ratio, RANK() OVER (ORDER BY return_ratio) AS return_rank FROM (
            SELECT ws_item_sk AS item,
                   CAST(SUM(COALESCE(wr_return_quantity, 0)) AS DECIMAL(15, 4))
                   / CAST(SUM(COALESCE(ws_quantity, 0)) AS DECIMAL(15, 4)) AS return_ratio
            FROM web_sales LEFT JOIN web_returns ON ws_order_number = wr_order_number AND ws_item_sk = wr_item_sk
            WHERE ws_quantity > 0 GROUP BY ws_item_sk) AS in_web) AS web
    WHERE return_rank <= 3
    UNION
    SELECT 'store', item, return_ratio, return_rank FROM (
        SELECT item, return_ratio, RANK() OVER (ORDER BY return_ratio) AS return_rank FROM (
            SELECT ss_item_sk AS item,
                   CAST(SUM(COALESCE(sr_return_quantity, 0)) AS DECIMAL(15, 4))
                   / CAST(SUM(COALESCE(ss_quantity, 0)) AS DECIMAL(15, 4)) AS return_ratio
            FROM store_sales LEFT JOIN store_returns ON ss_ticket_number = sr_ticket_number AND ss_item_sk = sr_item_sk
            WHERE ss_quantity > 0 GROUP BY ss_item_sk) AS in_store) AS store
    WHERE return_rank <= 3) AS worst
-- first_names_of_each_state
SELECT c_state, c_last_name, bought FROM (
    SELECT c_state, c_last_name, SUM(ss_quantity) AS bought FROM customer JOIN store_sales ON c_customer_sk = ss_customer_sk
    GROUP BY ALL)
QUALIFY ROW_NUMBER() OVER (PARTITION BY c_state ORDER BY bought DESC NULLS LAST, c_last_name) <= 2
-- groups_alone
SELECT i_category, i_class FROM store_sales JOIN item ON ss_item_sk = i_item_sk GROUP BY ROLLUP (i_category, i_class)
