import { expect, it } from 'vitest'
import { Accounts } from '../../../src/lab/demo/accounts.ts'

const PAGE = [
  'squall_calls_total{outcome="ok",origin="upstream",method="tools/call",tool="a"} 90',
  'squall_calls_total{outcome="reset",origin="upstream",method="tools/call",tool="a"} 4',
  'squall_calls_total{outcome="tool_error",origin="injected",method="tools/call",tool="a"} 6',
  'squall_calls_total{outcome="ok",origin="upstream",method="tools/list",tool=""} 3',
  'squall_calls_total{outcome="ok",origin="upstream",method="tools/call",tool="b"} 10',
  'squall_faults_injected_total{rule="r",fault="abort",tool="a"} 6',
  'squall_faults_injected_total{rule="s",fault="delay",tool="b"} 2',
]

it('tells apart whose errors the calls of each tool ended with', () => {
  const accounts = new Accounts(PAGE.join('\n'))
  expect(accounts.toJSON()).toEqual({
    a: { calls: 100, injected: 6, real: 4, faults: 6 },
    b: { calls: 10, injected: 0, real: 0, faults: 2 },
  })
  expect(accounts.total()).toEqual({ calls: 110, injected: 6, real: 4, faults: 8 })
  expect(accounts.of('c').calls).toBe(0)
})

it('says what came since an earlier page', () => {
  const now = PAGE.join('\n').replace('} 90', '} 95').replace('} 4', '} 5')
  const since = new Accounts(now).since(new Accounts(PAGE.join('\n')))
  expect(since.total()).toEqual({ calls: 6, injected: 0, real: 1, faults: 0 })
})
