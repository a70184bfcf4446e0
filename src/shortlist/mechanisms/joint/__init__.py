"""Joint and its relatives: one draw of a whole list of k items, by its largest loss."""
