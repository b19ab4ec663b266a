-- As vwap, counting in the inner volume only bids beyond the cheapest quarter: two levels.
SELECT SUM(b.price * b.volume) AS value
FROM bids b
WHERE 0.75 * (SELECT SUM(b1.volume) FROM bids b1)
    < (SELECT SUM(b2.volume) FROM bids b2
       WHERE b2.price <= b.price
         AND 0.25 * (SELECT SUM(b3.volume) FROM bids b3)
           < (SELECT SUM(b4.volume) FROM bids b4 WHERE b4.price <= b2.price))
