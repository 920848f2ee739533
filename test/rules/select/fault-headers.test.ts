import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FAULT_HEADERS } from '../../../src/rules/select/fault-headers.ts'
import { facts } from '../facts.ts'
import { abort, Counter, delay, type Headers } from '../header-counter.ts'
import { ANY_CHARACTER } from '../../support/any-character.ts'

describe('a caller asks by header', () => {
  it.each<[Headers, unknown[]]>([
    [{ 'x-squall-delay': '2s' }, [delay(2000)]],
    [{ 'X-Squall-Delay': ' 1.5s ' }, [delay(1500)]],
    [{ 'x-squall-abort': '503' }, [abort(503)]],
    [{ 'x-squall-abort': '429', 'x-squall-delay': '1ms' }, [delay(1), abort(429)]],
    [{ 'x-envoy-fault-delay-request': '1500' }, [delay(1500)]],
    [{ 'x-envoy-fault-abort-request': '500' }, [abort(500)]],
    [{ 'x-squall-delay': '1s', 'x-envoy-fault-delay-request': '9' }, [delay(1000)]],
    [{ 'x-squall-abort': '503', 'x-squall-percent': '100%' }, [abort(503)]],
    [{ 'x-squall-abort': '503', 'x-squall-percent': '0' }, []],
    [{ 'x-envoy-fault-abort-request': '503', 'x-envoy-fault-abort-request-percentage': '0' }, []],
    [
      {
        'x-envoy-fault-delay-request': '5',
        'x-envoy-fault-abort-request': '503',
        'x-envoy-fault-abort-request-percentage': '0',
      },
      [delay(5)],
    ],
    [{ 'x-squall-delay': '0s' }, []],
    [{ 'x-squall-percent': '100' }, []],
    [{ 'x-squall-fault': 'header-faults/abort', 'x-envoy-fault-throughput-response': '1' }, []],
    [{ host: 'a', accept: 'b' }, []],
  ])('%o', (headers, uses) => {
    const counter = new Counter()
    expect(counter.uses(headers)).toEqual(uses)
    expect(counter.faults.invalid).toBe(0)
  })

  it.each<[Headers, unknown[]]>([
    [{ 'x-squall-delay': '2' }, []],
    [{ 'x-squall-delay': '-1s' }, []],
    [{ 'x-squall-delay': '31d' }, []],
    [{ 'x-squall-delay': '' }, []],
    [{ 'x-squall-delay': '1e9s', 'x-squall-abort': '503' }, [abort(503)]],
    [{ 'x-squall-delay': 'soon', 'x-envoy-fault-delay-request': '7' }, [delay(7)]],
    [{ 'x-squall-abort': '99' }, []],
    [{ 'x-squall-abort': '600' }, []],
    [{ 'x-squall-abort': '101' }, []],
    [{ 'x-squall-abort': '503, 503' }, []],
    [{ 'x-envoy-fault-delay-request': '1s' }, []],
    [{ 'x-envoy-fault-delay-request': '99999999999' }, []],
  ])('%o, of which something is invalid, ignored and counted', (headers, uses) => {
    const counter = new Counter()
    expect(counter.uses(headers)).toEqual(uses)
    expect(counter.faults.invalid).toBe(1)
  })

  it.each(['101', '-1', 'all', '', '1e1', '٣'])(
    'for a share of %s, which is none, and gets nothing instead of everything',
    (percent) => {
      const counter = new Counter()
      expect(counter.uses({ 'x-squall-abort': '503', 'x-squall-percent': percent })).toEqual([])
      const envoy = { 'x-envoy-fault-abort-request': '503' }
      const share = { 'x-envoy-fault-abort-request-percentage': percent }
      expect(counter.uses({ ...envoy, ...share })).toEqual([])
      expect(counter.faults.invalid).toBe(2)
    },
  )

  it('twice, and the first counts', () => {
    const counter = new Counter()
    const headers = ['x-squall-abort', '503', 'X-Squall-Abort', '500']
    const of = facts({}, { headers })
    const matched = counter.faults.plan(counter.bench.ruleSet, of, () => counter.bench.now)
    expect(matched!.rule.uses[0]!.config).toMatchObject({ status: 503 })
  })

  it('with anything at all, and nothing throws or is too long', () => {
    const value = fc.oneof(
      fc.string({ unit: ANY_CHARACTER, maxLength: 30 }),
      fc.stringMatching(/^[0-9]{0,12}(ms|s|m|h|d|%)?$/),
      fc.constant('9'.repeat(100_000)),
    )
    const name = fc.oneof(fc.constantFrom(...FAULT_HEADERS), fc.string())
    fc.assert(
      fc.property(fc.array(fc.tuple(name, value)), (lines) => {
        const counter = new Counter({ maxDuration: 60_000 })
        const of = facts({}, { headers: lines.flat() })
        const matched = counter.faults.plan(counter.bench.ruleSet, of, () => counter.bench.now)
        for (const use of matched?.rule.uses ?? []) {
          if (use.fault === 'delay') expect(use.config.fixed).toBeLessThanOrEqual(60_000)
        }
      }),
    )
  })
})
