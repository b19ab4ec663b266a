-- The value of the bids at prices that hold just half of the volume.
SELECT SUM(b.price * b.volume) AS value
FROM bids b
WHERE 0.5 * (SELECT SUM(b1.volume) FROM bids b1)
    = (SELECT SUM(b2.volume) FROM bids b2 WHERE b2.price = b.price)
