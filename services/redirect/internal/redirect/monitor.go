package redirect

// agentRead is how much of an agent's name is looked at: monitors name themselves early.
const agentRead = 256

// monitors tells uptime monitors by their agent. It folds ASCII case, reads the agent
// once and allocates nothing: three bytes that begin no name on the list, which nearly
// all are, cost one look into a table of 4 kB.
type monitors struct {
	names  []string // lower case, three bytes at least
	begins [1 << 15 / 64]uint64
}

// newMonitors takes names, or parts of them, at least MinMonitorName long. What is
// shorter is left out: it would be in every agent.
func newMonitors(names []string) *monitors {
	m := &monitors{}
	for _, name := range names {
		if len(name) < MinMonitorName {
			continue
		}
		lower := []byte(name)
		for i, c := range lower {
			lower[i] = lowered(c)
		}
		m.names = append(m.names, string(lower))
		three := slot(lower[0], lower[1], lower[2])
		m.begins[three/64] |= 1 << (three % 64)
	}
	return m
}

// match says whether an agent contains one of the names.
func (m *monitors) match(agent []byte) bool {
	agent = agent[:min(len(agent), agentRead)]
	for i := 2; i < len(agent); i++ {
		three := slot(agent[i-2], agent[i-1], agent[i])
		if m.begins[three/64]&(1<<(three%64)) != 0 && m.at(agent[i-2:]) {
			return true
		}
	}
	return false
}

func (m *monitors) at(agent []byte) bool {
	for _, name := range m.names {
		if begins(agent, name) {
			return true
		}
	}
	return false
}

func begins(agent []byte, name string) bool {
	if len(agent) < len(name) {
		return false
	}
	for i := range len(name) {
		if lowered(agent[i]) != name[i] {
			return false
		}
	}
	return true
}

// slot is that of three bytes in the table: five bits of each, which are the same for
// a letter in both cases.
func slot(a, b, c byte) uint { return uint(a&31)<<10 | uint(b&31)<<5 | uint(c&31) }

func lowered(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
