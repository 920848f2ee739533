import type { RequestListener } from 'node:http'
import { responding, type HttpApp } from '../support/http-app.ts'
import { call, callMessage, type Called } from '../support/http-call.ts'
import { startSquall, type Squall } from '../support/squall.ts'
import { mountRules, type MountedRules } from './rules-directory.ts'
import { startUpstream } from '../support/upstream.ts'

/** Squall with mounted rules in front of an app. */
export interface RuledSquall {
  readonly app: HttpApp
  readonly mounted: MountedRules
  readonly squall: Squall
  /** Calls a tool. */
  readonly ask: (tool?: string, headers?: Readonly<Record<string, string>>) => Promise<Called>
  /** The text that a call of a tool is answered with. */
  readonly text: (tool?: string, headers?: Readonly<Record<string, string>>) => Promise<string>
  close(): Promise<void>
}

/** Starts an app that answers `fine`, unless told otherwise, and Squall in front of it. */
export async function startRuled(
  rules: string | undefined,
  flags: readonly string[] = [],
  listener: RequestListener = responding('fine'),
): Promise<RuledSquall> {
  const app = await startUpstream(listener)
  const mounted = await mountRules(rules)
  const upstream = `http://127.0.0.1:${app.port}`
  const squall = await startSquall('--upstream', upstream, '--rules', mounted.file, ...flags)
  let id = 0
  const ask: RuledSquall['ask'] = (tool = 'probe', headers = {}) =>
    call({ port: squall.port, host: '127.0.0.1', headers }, callMessage(++id, tool))
  return {
    app,
    mounted,
    squall,
    ask,
    text: async (tool, headers) => {
      const { status, text } = await ask(tool, headers)
      if (status !== 200) return String(status)
      return (JSON.parse(text) as { result: { content: [{ text: string }] } }).result.content[0]
        .text
    },
    close: async () => {
      await squall.close()
      await mounted.remove()
      await app.close()
    },
  }
}
