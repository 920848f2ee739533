import { type Line, textLine } from '#cli'

const TEXT = `
q      quit, as Ctrl-C
p      pause: freeze the screen; updates received meanwhile are kept
s      sort: default, by name, by calls, by errors, by latency
tab    show only one table          ↑ ↓ PgUp PgDn  scroll it
1 … 9  show only one sidecar         0      show all sidecars again
d      disarm: stop injecting faults (asks first, needs the admin token)
a      arm again after an operator, the guard or --rollback-on disarmed (asks first, needs the token)
?      open or close this help       Esc    show everything again

INJ/S, INJECTED  errors caused by faults
REAL/S, REAL     errors of the MCP server, without a fault
SQUALL           errors of Squall itself, for example when the server cannot be reached
P50, P95, P99    latencies of the last ten seconds; for several sidecars, the largest
MATCHED          calls that rules match; SAMPLED: calls sampled from them; INJECTED: a fault took effect
g3               the third version of the rules in that process
≠                the sidecars have different rules: compare their digests
IDLE             the rule is active but has sampled no call yet: check its match

Rates cover the last second. Counts begin when the sidecar starts; those of a rule, with its version.
Times are UTC.`

export function helpLines(): readonly Line[] {
  return TEXT.split('\n').map((text) => (text === '' ? [] : textLine(text)))
}
