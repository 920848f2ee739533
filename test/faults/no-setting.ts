import type { TurnSetting } from '../../src/listener/faults/chain/turn-setting.ts'
import { facts } from '../rules/facts.ts'

/** What faults have in common where nothing of it matters. */
export const NO_SETTING: TurnSetting = {
  facts: facts(),
  request: { method: 'POST', target: '/mcp', version: '1.1', headers: [] },
  requestBytes: 0,
  now: () => 0,
  host: {
    expireSession: () => false,
    isSessionOver: () => false,
    refuseConnections: () => undefined,
  },
}
