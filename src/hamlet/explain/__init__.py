"""A plan made visible: as a description (plain data), as stable text, and as pictures.

Everything is drawn from one description, so text, JSON and pictures cannot disagree.
"""

from hamlet.explain.describe import describe, summary
from hamlet.explain.pictures import pictures
from hamlet.explain.text import STAGES, explain_text

__all__ = ["STAGES", "describe", "explain_text", "pictures", "summary"]
