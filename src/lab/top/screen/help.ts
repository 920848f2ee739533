import { type Line, textLine } from './line.ts'

const TEXT = `
q      quit, as Ctrl-C
p      pause: hold the screen still; what is heard meanwhile is not lost
1 … 9  show one sidecar alone        0      show all of them again
d      disarm: no rule acts any more (asks first, needs the admin token)
a      arm: lift what an operator or the guard disarmed (the same)
?      this help, and back

INJ/S, INJECTED  errors that faults made
REAL/S, REAL     errors of the MCP server, without a fault
SQUALL           errors that Squall made itself, for example when the server cannot be reached
MATCHED          calls that rules match; SAMPLED: chosen among them; INJECTED: a fault took effect
g3               the third version of the rules in that process
≠                the sidecars have different rules: look at their digests
IDLE             the rule is active and sampled no call yet: check its match

Rates are of the last second, all else counts since the start, of rules since their version.
Times are UTC.`

/** Explains the keys and words. */
export function helpLines(): readonly Line[] {
  return TEXT.split('\n').map((text) => (text === '' ? [] : textLine(text)))
}
