import { quoted } from '../../base/text/foreign-text.ts'
import type { ListenAddress } from '../../http/address.ts'
import { parseListen } from '../flags/address.ts'
import { type Environment, FlagValues, type Given, type RawFlags } from '../flags/flag-values.ts'
import { isWildcard } from '../flags/host.ts'
import { parseDuration } from '../flags/units.ts'
import { UsageError } from '../flags/usage-error.ts'
import {
  PRE_STOP_FLAGS,
  type PreStopFlag,
  WAIT_READY_FLAGS,
  type WaitReadyFlag,
} from './lifecycle-flags.ts'

/** What `squall pre-stop` was told, checked. */
export interface PreStopRequest {
  readonly socketPath: string
  readonly waitMs: number
}

/** What `squall wait-ready` was told, checked. */
export interface WaitReadyRequest {
  readonly admin: ListenAddress
  readonly waitMs: number
  readonly withApp: boolean
}

const WAIT = { min: 0, max: 3_600_000 }

/** Checks what the command line and the environment say. Throws nothing but a `UsageError`. */
export function parsePreStop(raw: RawFlags, env: Environment): PreStopRequest {
  const flags = new FlagValues<PreStopFlag>(PRE_STOP_FLAGS, raw, env)
  const control = flags.required('control')
  const wait = flags.required('stop-wait')
  return {
    socketPath: parseControl(control),
    waitMs: parseDuration(wait.text, wait.source, WAIT),
  }
}

/** Checks what the command line and the environment say. Throws nothing but a `UsageError`. */
export function parseWaitReady(raw: RawFlags, env: Environment): WaitReadyRequest {
  const flags = new FlagValues<WaitReadyFlag>(WAIT_READY_FLAGS, raw, env)
  const wait = flags.required('ready-wait')
  return {
    admin: adminToAsk(flags.required('admin')),
    waitMs: parseDuration(wait.text, wait.source, WAIT),
    withApp: flags.switch('ready-with-app'),
  }
}

/** The path of a control socket: no network leads to one. */
export function parseControl({ text, source }: Given): string {
  if (text.startsWith('unix:')) {
    const address = parseListen(text, source)
    if (address.kind === 'unix') return address.path
  }
  throw new UsageError(
    'BAD_ADDRESS',
    `${source}: ${quoted(text)} is no control socket`,
    'write unix: and an absolute path, such as unix:/run/squall/control.sock',
  )
}

/** Returns where a listener on every interface is reached from within. Throws a `UsageError`. */
export function adminToAsk({ text, source }: Given): ListenAddress {
  if (text === 'off') {
    throw new UsageError(
      'BAD_VALUE',
      `${source}: without the admin port nothing tells when the sidecar is ready`,
      'give squall run an admin port',
    )
  }
  const address = parseListen(text, source)
  if (address.kind === 'unix' || !isWildcard(address.host)) return address
  // A listener on :: takes both families, and is bound to 0.0.0.0 where there is no IPv6.
  return { kind: 'tcp', host: '127.0.0.1', port: address.port }
}
