import { parsePointer } from '../base/json/json-pointer.ts'
import { type FlagInput, group, type Values } from '../base/flags/flag.ts'
import { many, one, pathTo, size, toggle } from '../base/flags/kinds.ts'
import { invalidCombination, invalidFile, invalidValue } from '../base/flags/usage-error.ts'
import { quoted } from '../base/text/foreign-text.ts'
import type { CountLines } from '../telemetry/call-log.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { TapeOptions, TapeRecorder } from '../telemetry/tape.ts'
import { systemReason } from '../base/system-reason.ts'
import { readVersion } from '../base/program.ts'

const MIB = 1024 * 1024

export const TAPE_FLAGS = group('Tape:', {
  tape: one(
    'file',
    'file in which to record messages for squall tape, with arguments and results in clear text',
    pathTo('name a file'),
  ),
  tapeForce: toggle('replace an existing tape'),
  tapeSize: size(
    'tape size at which recording stops',
    { min: MIB, max: 1024 * 1024 * MIB },
    '256MiB',
  ),
  tapeKeepSecrets: toggle('also record values that look like secrets'),
  tapeRedact: many(
    'pointer',
    'JSON Pointer to a value to redact, such as /params/arguments/card; * is any key or index; repeatable',
    pointersOf,
  ),
})

/** Returns the options of the recording; undefined without one. */
export function tapeOf(flags: Values<typeof TAPE_FLAGS>): TapeOptions | undefined {
  const { tape: path, tapeForce: force, tapeSize: maxBytes, tapeKeepSecrets: keepSecrets } = flags
  if (path !== undefined) return { path, force, maxBytes, keepSecrets, redact: flags.tapeRedact }
  if (!force && !keepSecrets && flags.tapeRedact.length === 0) return undefined
  throw invalidCombination('these options require --tape', 'add --tape, or remove them')
}

/** Opens the tape. Throws a `UsageError`. */
export async function openedTape(
  options: TapeOptions | undefined,
  metrics: Metrics,
  logger: Logger,
): Promise<TapeRecorder | undefined> {
  if (options === undefined) return undefined
  const { TapeRecorder } = await import('../telemetry/tape.ts')
  const count: CountLines = (fate, lines) => (metrics.outputs.tape[fate] += lines)
  return TapeRecorder.open({ ...options, logger, count }, readVersion()).catch((error: unknown) => {
    const path = quoted(options.path)
    const fix = 'name a new file in a directory that this user can write to, or add --tape-force'
    throw invalidFile(`the tape ${path} cannot be created (${systemReason(error)})`, fix)
  })
}

function pointersOf(all: readonly FlagInput[]): readonly string[] {
  return all.map((given) => {
    const keys = parsePointer(given.text)
    if (/^(params|result|error)$/.test(keys?.[0] ?? '') && keys!.length > 1) return given.text
    const fix = 'begin with /params/, /result/ or /error/, such as /params/arguments/card'
    throw invalidValue(given, 'must point into a message', fix)
  })
}
