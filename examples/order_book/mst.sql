-- Missed trades: bids and asks with less than a quarter of their side's volume above them.
SELECT SUM(a.price * a.volume - b.price * b.volume) AS missed
FROM bids b, asks a
WHERE 0.25 * (SELECT SUM(b1.volume) FROM bids b1)
    > (SELECT SUM(b2.volume) FROM bids b2 WHERE b2.price > b.price)
  AND 0.25 * (SELECT SUM(a1.volume) FROM asks a1)
    > (SELECT SUM(a2.volume) FROM asks a2 WHERE a2.price > a.price)
