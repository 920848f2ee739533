import type { Telemetry } from '../../telemetry/telemetry.ts'
import type { ExchangeListener } from '../exchange.ts'

/** Returns a listener that counts clients that leave before their request was read. */
export function unreadListener(telemetry: Telemetry): ExchangeListener {
  const nothing = (): void => undefined
  return {
    drained: nothing,
    tickOver: nothing,
    dropped: nothing,
    gone: () => telemetry.http({ class: 'mcp', status: 0, origin: 'upstream' }),
  }
}
