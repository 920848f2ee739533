import { parseBaggage } from '../../http/baggage.ts'
import { headerValues } from '../../http/headers.ts'
import { fieldsOf } from '../../base/values.ts'
import type { Facts } from './call-facts.ts'
import { type MatchTest, shownNamed } from './match-test.ts'
import { compileValue, matchesAny, type ValueSpec } from './value-match.ts'

type Baggage = ReturnType<typeof parseBaggage>
/** The baggage of a call or exchange, which many rules may test. */
const READ = new WeakMap<Facts, Baggage>()

/** Tests a member of the baggage of a call, or else of its request. */
export function baggageTest(key: string, spec: ValueSpec): MatchTest {
  const matcher = compileValue(spec, 'text')
  return {
    dimension: `baggage.${key}`,
    wants: matcher.wants,
    test: (facts) => matchesAny(matcher, baggageOf(facts).get(key) ?? []),
    found: (facts) => shownNamed(key, baggageOf(facts).get(key)?.join(', ')),
  }
}

function baggageOf(facts: Facts): Baggage {
  let read = READ.get(facts)
  if (read === undefined) {
    const { baggage } = fieldsOf(fieldsOf(facts.call?.params)['_meta'])
    read = parseBaggage(typeof baggage === 'string' ? baggage : '')
    if (read.size === 0) read = parseBaggage(headerValues(facts.headers, 'baggage').join())
    READ.set(facts, read)
  }
  return read
}
