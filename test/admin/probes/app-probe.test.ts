import { assert, property, string } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AppProbesError, parseAppProbesJson } from '../../../src/admin/probes/app-probe.ts'
import { ANY_CHARACTER } from '../../support/any-character.ts'

const HOST = '10.0.0.7'
const parse = (value: unknown) => parseAppProbesJson(JSON.stringify(value), HOST)
const one = (handler: unknown, key = 'app/readyz') => parse({ [key]: handler })[0]

describe('probes as a pod has them', () => {
  test('an HTTP probe with everything', () => {
    const httpGet = {
      path: 'health z?q=é#part',
      port: 3000,
      scheme: 'HTTPS',
      host: 'other',
      httpHeaders: [{ name: 'X-A', value: '1' }],
    }
    expect(one({ httpGet, timeoutSeconds: 3, periodSeconds: 5 })).toEqual({
      key: 'app/readyz',
      isHook: false,
      timeoutMs: 3000,
      action: {
        kind: 'http',
        tls: true,
        host: 'other',
        port: 3000,
        path: '/health%20z?q=%C3%A9',
        headers: [['X-A', '1']],
      },
    })
  })

  test('what is left out is as the kubelet takes it', () => {
    const http = { kind: 'http', tls: false, host: HOST, port: 1, path: '/', headers: [] }
    expect(one({ httpGet: { port: 1 } })).toMatchObject({ timeoutMs: 1000, action: http })
    expect(one({ tcpSocket: { port: 1 } })?.action).toEqual({ kind: 'tcp', host: HOST, port: 1 })
    expect(one({ grpc: { port: 1, service: null } })?.action).toEqual({
      kind: 'grpc',
      host: HOST,
      port: 1,
      service: '',
    })
    expect(one({ httpGet: { port: 1 }, tcpSocket: null }, 'a/prestop')?.isHook).toBe(true)
  })

  test.each([
    ['{', 'not JSON'],
    ['[]', 'must be an object'],
    ['{"App/readyz":{}}', 'invalid key'],
    ['{"app/exec":{}}', 'invalid key'],
    ['{"app/readyz":{}}', 'requires exactly one of httpGet'],
    ['{"app/readyz":{"exec":{"command":["ls"]}}}', 'requires exactly one of httpGet'],
    ['{"app/readyz":{"grpc":{"port":1},"tcpSocket":{"port":1}}}', 'requires exactly one of'],
    ['{"app/readyz":{"httpGet":{"port":"http"}}}', 'httpGet.port must be an integer'],
    ['{"app/readyz":{"httpGet":{"port":0}}}', 'httpGet.port'],
    ['{"app/readyz":{"httpGet":{"port":1,"scheme":"FTP"}}}', 'must be HTTP or HTTPS'],
    ['{"app/readyz":{"httpGet":{"port":1,"host":"a/b"}}}', 'must be a valid host'],
    ['{"app/readyz":{"httpGet":{"port":1,"path":7}}}', 'path must be a string'],
    ['{"app/readyz":{"httpGet":{"port":1,"httpHeaders":{}}}}', 'must be a list'],
    [
      '{"app/readyz":{"httpGet":{"port":1,"httpHeaders":[{"name":"a","value":"b\\r\\nc"}]}}}',
      'contains the invalid header',
    ],
    ['{"app/readyz":{"tcpSocket":{"port":1},"timeoutSeconds":1.5}}', 'timeoutSeconds'],
    [`{"app/readyz":"${'x'.repeat(70_000)}"}`, 'longer than'],
  ])('refuses %s', (text, wrong) => {
    expect(() => parseAppProbesJson(text, HOST)).toThrow(wrong)
    expect(() => parseAppProbesJson(text, HOST)).toThrow(AppProbesError)
  })

  test('any path becomes one that a request line can hold', () => {
    assert(
      property(string({ unit: ANY_CHARACTER }), (path) => {
        const action = one({ httpGet: { port: 1, path } })?.action
        expect(action?.kind === 'http' && /^\/[\u0021-\u007e]*$/.test(action.path)).toBe(true)
      }),
      { numRuns: 30 },
    )
  })
})
