-- As vwap, with the volume on the left correlated too.
SELECT SUM(b.price * b.volume) AS value
FROM bids b
WHERE 0.75 * (SELECT SUM(b1.volume) FROM bids b1 WHERE b1.price >= b.price)
    < (SELECT SUM(b2.volume) FROM bids b2 WHERE b2.price <= b.price)
