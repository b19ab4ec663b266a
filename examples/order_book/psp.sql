-- Price spread: over all pairs of orders that hold more than a ten-thousandth of their side.
SELECT SUM(a.price - b.price) AS spread
FROM bids b, asks a
WHERE b.volume > 0.0001 * (SELECT SUM(b1.volume) FROM bids b1)
  AND a.volume > 0.0001 * (SELECT SUM(a1.volume) FROM asks a1)
