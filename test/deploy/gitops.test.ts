import { createRequire } from 'node:module'
import { run } from '@bufbuild/cel'
import { strings } from '@bufbuild/cel/ext'
import { expect, test } from 'vitest'
import { deployed } from './manifest-problems.ts'

/** The C API of Lua, as fengari has it, without types of its own. */
type LuaFunction =
  | 'luaL_newstate'
  | 'luaL_openlibs'
  | 'luaL_dostring'
  | `lua_${'pushstring' | 'pushinteger' | 'newtable' | 'settable' | 'setglobal'}`
  | `lua_${'tostring' | 'getfield' | 'pop'}`
type LuaFunctions = Record<LuaFunction, (...args: unknown[]) => unknown>
type Lua = Record<'lua' | 'lauxlib' | 'lualib', LuaFunctions> & {
  to_luastring(this: void, text: string): Uint8Array
  to_jsstring(this: void, bytes: unknown): string
}

const fengari = createRequire(import.meta.url)('fengari') as Lua
const TIME = '2026-05-01T09:00:00Z'
const LATER = '2026-05-01T09:00:01Z'

/** A ConfigMap as the API server has it; `changed` is when another manager wrote its data. */
function configMap(observed?: object | string, changed = TIME) {
  const text = typeof observed === 'string' ? observed : JSON.stringify(observed)
  const managedFields = [
    { manager: 'argocd-controller', time: changed, fieldsV1: { 'f:data': { 'f:rules.yaml': {} } } },
    { manager: 'squall-observed', time: LATER, fieldsV1: { 'f:metadata': {} } },
  ]
  const annotations = observed === undefined ? {} : { 'squall.dev/observed': text }
  const metadata = { name: 'squall-rules', annotations, managedFields }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'rules.yaml': 'rules: []\n' } }
}

const APPLIED = { ok: true, state: 'applied', digest: 'd', pods: 8, confirmed: 8, time: TIME }
const FEW = { ...APPLIED, ok: false, confirmed: 3 }
const PLAIN = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'other' }, data: {} }
const MALFORMED = '"ok":false'

test.each([
  ['another ConfigMap', PLAIN, 'Healthy', ''],
  ['rules that nobody observed', configMap(), 'Healthy', ''],
  ['applied rules', configMap(APPLIED), 'Healthy', `applied: confirmed by 8 of 8 pods at ${TIME}`],
  ['too few pods', configMap(FEW), 'Degraded', `applied: confirmed by 3 of 8 pods at ${TIME}`],
  [
    'a stop',
    configMap({ ...APPLIED, state: 'stopped' }),
    'Suspended',
    `stopped: confirmed by 8 of 8 pods at ${TIME}`,
  ],
  [
    'data that changed since',
    configMap(FEW, LATER),
    'Healthy',
    `changed at ${LATER}, not confirmed by sidecars since`,
  ],
  [
    'an annotation of other text',
    configMap(MALFORMED),
    'Healthy',
    'squall.dev/observed is not readable',
  ],
])('Argo CD shows %s as health', (_, object, status, message) => {
  const { data } = deployed('gitops/argo-cd.yaml')[0]! as unknown as {
    data: Record<string, string>
  }
  const script = data['resource.customizations.health.ConfigMap']!
  expect(healthByLua(script, object)).toEqual({ status, message })
})

test.each([
  ['another ConfigMap', PLAIN, false],
  ['rules that nobody observed', configMap(), false],
  ['applied rules', configMap(APPLIED), false],
  ['too few pods', configMap(FEW), true],
  ['a stop', configMap({ ...APPLIED, state: 'stopped' }), false],
  ['data that changed since', configMap(FEW, LATER), false],
  ['an annotation of other text', configMap(MALFORMED), false],
])('Flux reads %s by its expressions', (_, object, failed) => {
  const { spec } = deployed('gitops/flux.yaml')[0]! as unknown as {
    spec: { healthCheckExprs: readonly { failed: string; current: string }[] }
  }
  const [check] = spec.healthCheckExprs
  expect(run(check!.failed, object, { funcs: strings })).toBe(failed)
  expect(run(check!.current, object, { funcs: strings })).toBe(true)
})

/** Runs a health check as Argo CD does: the object is the global `obj`. */
function healthByLua(script: string, object: object): object {
  const { lua, lauxlib, lualib, to_luastring: bytes, to_jsstring: text } = fengari
  const state = lauxlib.luaL_newstate()
  lualib.luaL_openlibs(state)
  const push = (value: string | object): void => {
    if (typeof value === 'string') return void lua.lua_pushstring(state, bytes(value))
    lua.lua_newtable(state)
    const entries = Array.isArray(value)
      ? value.map((each, i) => [i + 1, each] as const)
      : Object.entries(value)
    for (const [key, each] of entries) {
      if (typeof key === 'number') lua.lua_pushinteger(state, key)
      else lua.lua_pushstring(state, bytes(key))
      push(each)
      lua.lua_settable(state, -3)
    }
  }
  push(object)
  lua.lua_setglobal(state, bytes('obj'))
  if (lauxlib.luaL_dostring(state, bytes(script)))
    throw new Error(text(lua.lua_tostring(state, -1)))
  const field = (name: string): string => {
    lua.lua_getfield(state, -1, bytes(name))
    const value = text(lua.lua_tostring(state, -1))
    lua.lua_pop(state, 1)
    return value
  }
  return { status: field('status'), message: field('message') }
}
