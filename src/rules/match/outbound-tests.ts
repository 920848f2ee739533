import { parseCidr } from '../../http/address.ts'
import type { MatchSpec } from '../file/match-spec.ts'
import type { Destination, Facts } from './call-facts.ts'
import { type MatchTest, showValue } from './match-test.ts'
import { compileText } from './text-match.ts'

/** The tests of the destination of outgoing traffic. Inbound traffic has none. */
export function outboundTests({
  host,
  port,
  sni,
  cidr,
}: NonNullable<MatchSpec['outbound']>): readonly MatchTest[] {
  const tests: MatchTest[] = []
  const add = (
    key: keyof Destination,
    wants: string,
    holds: (to: Destination) => boolean,
  ): void => {
    tests.push({
      dimension: `outbound.${key}`,
      wants,
      test: ({ outbound }) => outbound !== undefined && holds(outbound),
      found: ({ outbound }: Facts) => showValue(outbound?.[key]),
    })
  }
  for (const [key, spec] of [
    ['host', host],
    ['sni', sni],
  ] as const) {
    if (spec === undefined) continue
    const matcher = compileText(spec)
    add(key, matcher.wants, (to) => to[key] !== undefined && matcher.test(to[key]))
  }
  if (port !== undefined) add('port', String(port), (to) => to.port === port)
  if (cidr !== undefined) {
    const texts = [cidr].flat()
    const ranges = texts.flatMap((text) => parseCidr(text) ?? [])
    add('address', texts.join(' or '), ({ address }) =>
      address === undefined ? false : ranges.some((range) => range.has(address)),
    )
  }
  return tests
}
