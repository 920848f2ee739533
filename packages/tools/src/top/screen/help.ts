import { type Line, textLine } from '#cli'

const TEXT = `
q      quit, as Ctrl-C
p      pause: freeze the screen; updates received meanwhile are kept
s      sort: default, by name, by calls, by errors, by latency
tab    show only one table          ↑ ↓ PgUp PgDn  scroll it
1 … 9  show only one sidecar         0      show all sidecars again
d      disarm: stop injecting faults (asks first, needs the admin token)
a      arm: undo a disarming by an operator, the guard or --rollback-on (the same)
?      this help, and back           Esc    everything again

INJ/S, INJECTED  errors caused by faults
REAL/S, REAL     errors of the MCP server, without a fault
SQUALL           errors of Squall itself, for example when the server cannot be reached
P50, P95, P99    latencies of the last ten seconds; of several sidecars the largest
MATCHED          calls that rules match; SAMPLED: chosen among them; INJECTED: a fault took effect
g3               the third version of the rules in that process
≠                the sidecars have different rules: compare their digests
IDLE             the rule is active and sampled no call yet: check its match

Rates cover the last second. Other counts begin at the start, those of rules at their version.
Times are UTC.`

export function helpLines(): readonly Line[] {
  return TEXT.split('\n').map((text) => (text === '' ? [] : textLine(text)))
}
