-- The value and the volume of the dearest quarter of the bids: their quotient is its price.
SELECT SUM(b.price * b.volume) AS value, SUM(b.volume) AS volume
FROM bids b
WHERE 0.75 * (SELECT SUM(b1.volume) FROM bids b1)
    < (SELECT SUM(b2.volume) FROM bids b2 WHERE b2.price <= b.price)
