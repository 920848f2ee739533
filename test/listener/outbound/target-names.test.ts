import { expect, test } from 'vitest'
import { parseCidr } from '../../../src/http/address.ts'
import { TargetNames } from '../../../src/listener/outbound/target-names.ts'

const target = (host: string) => ({ text: `${host}:1`, host, port: 1, range: parseCidr(host) })

test('an address belongs to its range, its name, or else to every host', async () => {
  const names = new TargetNames([target('10.0.0.0/8'), target('localhost')])
  expect((await names.of('10.1.2.3'))?.host).toBe('10.0.0.0/8')
  expect((await names.of('127.0.0.1'))?.host).toBe('localhost')
  expect(await names.of('192.0.2.1')).toBeUndefined()
  const every = new TargetNames([target('localhost'), target('*')])
  expect((await every.of('192.0.2.1'))?.host).toBe('*')
})

test('a name that is not found leaves its connections without a target', async () => {
  const names = new TargetNames([target('nothing.invalid')])
  expect(await names.of('192.0.2.1')).toBeUndefined()
})
