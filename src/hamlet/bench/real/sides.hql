bought:
  RETURN symbol, COUNT(*), SUM(b.volume)
  PATTERN SEQ(S, B b+)
  GROUPBY symbol
  WITHIN 20 s SLIDE 5 s;

bought_big:
  RETURN symbol, COUNT(*), AVG(b.price)
  PATTERN SEQ(S s, B b+)
  WHERE s.volume >= 300 AND b.volume >= 100
  GROUPBY symbol
  WITHIN 30 s SLIDE 10 s;

up:
  RETURN symbol, COUNT(*), MAX(b.price)
  PATTERN SEQ(S, B b+)
  WHERE b.price < NEXT(b).price
  GROUPBY symbol
  WITHIN 1 min SLIDE 20 s;

up_sold:
  RETURN symbol, COUNT(*), MIN(b.price)
  PATTERN SEQ(B b+, S s)
  WHERE b.price < NEXT(b).price AND s.volume > 200
  GROUPBY symbol
  WITHIN 1 min SLIDE 30 s;

down:
  RETURN symbol, COUNT(*), MIN(s.price)
  PATTERN S s+
  WHERE s.price > NEXT(s).price
  GROUPBY symbol
  WITHIN 2 min SLIDE 1 min;

round_trip:
  RETURN symbol, COUNT(*)
  PATTERN SEQ(B b+, S s+)
  WHERE b.volume >= 500 AND s.volume >= 500
  GROUPBY symbol
  WITHIN 1 min SLIDE 30 s;

no_sale:
  RETURN symbol, COUNT(*), MAX(b.volume)
  PATTERN SEQ(B b+, NOT S)
  WHERE b.volume > 200
  GROUPBY symbol
  WITHIN 10 s
