import { type Line, textLine } from '#cli'

const TEXT = `
q      quit, like Ctrl-C
p      pause: freeze the screen; updates received meanwhile are kept
s      sort: default, by name, calls, errors or latency
tab    show only one table          ↑ ↓ PgUp PgDn  scroll it
1 … 9  show only one sidecar         0      show all sidecars again
d      disarm: stop injecting faults (asks first, needs the admin token)
a      arm again after an operator, the guard or --rollback-on disarmed (asks first, needs the token)
?      open or close this help       Esc    show everything again

INJ/S, INJECTED  errors caused by faults
REAL/S, REAL     errors of the MCP server, without a fault
SQUALL           errors of Squall itself, for example when the server cannot be reached
P50, P95, P99    latencies over the last ten seconds; the highest of several sidecars
MATCHED          calls that rules matched; SAMPLED: selected for a fault; INJECTED: a fault took effect
g3               the third rules version in that process
≠                the sidecars have different rules: compare their digests
IDLE             the rule is active but has sampled no call yet: check its match

Rates cover the last second. Counts begin when the sidecar starts; counts of a rule, when it is added or changed.
Times are UTC.`

export function helpLines(): readonly Line[] {
  return TEXT.split('\n').map((text) => (text === '' ? [] : textLine(text)))
}
