offered:
  RETURN COUNT(*), AVG(v.amount)
  PATTERN SEQ(A_ACCEPTED, `W_Completeren aanvraag` v+, O_SENT)
  WHERE [case]
  WITHIN 10 days SLIDE 5 days;

chased:
  RETURN COUNT(*), MAX(v.amount)
  PATTERN SEQ(O_SENT, `W_Nabellen offertes` v+)
  WHERE [case] AND v.transition = 'COMPLETE'
  WITHIN 30 days SLIDE 10 days;

cancelled:
  RETURN COUNT(*), COUNT(v)
  PATTERN SEQ(A_PREACCEPTED, `W_Completeren aanvraag` v+, NOT O_SENT)
  WHERE [case]
  WITHIN 10 days SLIDE 10 days;

larger:
  RETURN COUNT(*), MAX(a.amount)
  PATTERN SEQ(A_SUBMITTED a+, A_DECLINED)
  WHERE [resource] AND a.amount < NEXT(a).amount AND a.amount > 20000
  WITHIN 1 h SLIDE 30 min;

busy:
  RETURN resource, COUNT(*), SUM(v.amount)
  PATTERN SEQ(`W_Nabellen offertes`, `W_Valideren aanvraag` v+)
  GROUPBY resource
  WITHIN 30 min SLIDE 10 min
