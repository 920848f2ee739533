// A fault of each format for HTTP or TCP, converted, then seen by a client of the proxy.
import { expect, it } from 'vitest'
import { jsonApp } from '../../faults/apps.ts'
import { call, callMessage, startSidecar } from '../../support/wire.ts'
import { closers } from '../../support/closers.ts'
import { imported } from './imported.ts'

const opened = closers()

const ENVOY = `'@type': type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault
headers: [{ name: x-chaos, exact_match: 'on' }]
abort: { http_status: 503, percentage: { numerator: 100 } }`
const ISTIO = `kind: VirtualService
spec: { http: [{ match: [{ headers: { x-chaos: { exact: 'on' } } }], fault: { abort: { httpStatus: 503, percentage: { value: 100 } } } }] }`
const CHAOS_MESH = `kind: HTTPChaos
spec: { mode: all, selector: {}, port: 80, target: Response, request_headers: { x-chaos: 'on' }, replace: { code: 503, body: ZG93bg== } }`
const KUMA = `kind: MeshFaultInjection
spec: { rules: [{ default: { http: [{ abort: { httpStatus: 503, percentage: 100 } }] } }] }`
const GATEWAY = `apiVersion: gateway.kgateway.dev/v1alpha1
kind: TrafficPolicy
spec: { targetRefs: [{ kind: HTTPRoute, name: r }], faultInjection: { abort: { httpStatus: 503 } } }
---
kind: HTTPRoute
metadata: { name: r }
spec: { rules: [{ matches: [{ headers: [{ name: X-Chaos, value: 'on' }] }] }] }`
const DOWN = '[{ name: mcp, listen: "a:1", upstream: "b:1", enabled: false }]'

/** Returns the status of a call, and of a request that is no call; `cut` without a response. */
async function statuses(source: string, headers: Readonly<Record<string, string>>) {
  const { rules } = imported(source).file
  const stage = opened(await startSidecar({ rules, upstream: jsonApp }))
  const place = { host: stage.host, port: stage.port, headers }
  const status = ({ status: code }: { readonly status: number }): number => code
  const cut = (): string => 'cut'
  return [
    await call(place, callMessage(1)).then(status, cut),
    await call({ ...place, path: '/other' }, '{}').then(status, cut),
  ]
}

it.each([
  ['Envoy', ENVOY],
  ['Istio', ISTIO],
  ['Chaos Mesh', CHAOS_MESH],
  ['kgateway', GATEWAY],
])('a rule of %s fails requests with its header, and no others', async (_name, source) => {
  expect(await statuses(source, { 'x-chaos': 'on' })).toEqual([503, 503])
  expect(await statuses(source, { 'x-chaos': 'off' })).toEqual([200, 202])
})

it('a rule of Kuma fails every request', async () => {
  expect(await statuses(KUMA, {})).toEqual([503, 503])
})

it('a proxy of toxiproxy that is down resets every request', async () => {
  expect(await statuses(DOWN, {})).toEqual(['cut', 'cut'])
})
