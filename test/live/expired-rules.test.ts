import { expect, test } from 'vitest'
import { closers } from '../support/closers.ts'
import { startSquall } from '../support/commands.ts'
import { mountRules } from './rules-directory.ts'

const opened = closers()

const rule = (name: string, lasts: string): string =>
  `  - name: ${name}\n    ${lasts}\n    faults: [{ abort: { status: 503 } }]\n`

test('the log names expired rules, each once', async () => {
  const brief = `rules:\n${rule('brief', 'for: 100ms')}${rule('too', 'for: 100ms')}`
  const mounted = await mountRules(`${brief}${rule('old', "until: '2020-01-01T00:00:00Z'")}`)
  opened({ close: () => mounted.remove() })
  const upstream = ['--upstream', 'http://127.0.0.1:9', '--ready-without-upstream']
  const squall = opened(await startSquall(...upstream, '--rules', mounted.directory))
  expect(await squall.logged('rules have expired')).toMatchObject({
    level: 'info',
    count: 2,
    rules: ['brief', 'too'],
  })
  await mounted.swap(`rules:\n${rule('later', 'for: 100ms')}${rule('never', 'percent: 5')}`)
  const isOver = ({ msg }: Readonly<Record<string, unknown>>): boolean =>
    msg === 'rules have expired'
  await expect.poll(() => squall.logs.filter(isOver).length).toBe(2)
  expect(squall.logs.findLast(isOver)).toMatchObject({ count: 1, rules: ['later'] })
})
