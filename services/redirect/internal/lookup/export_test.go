package lookup

// OriginIsSilent says what a Lookup believes of the origin.
func (l *Lookup) OriginIsSilent() bool { return l.originSilence.silent() }
