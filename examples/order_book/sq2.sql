-- As vwap, with unlike computations on the sides of the inner inequality.
SELECT SUM(b.price * b.volume) AS value
FROM bids b
WHERE 0.75 * (SELECT SUM(b1.volume) FROM bids b1)
    < (SELECT SUM(b2.volume) FROM bids b2 WHERE 2 * b2.price <= 3 * b.price - 5)
