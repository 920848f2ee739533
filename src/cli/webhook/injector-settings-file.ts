import { parse } from 'yaml'
import { quoted } from '../../base/text/foreign-text.ts'
import type { InjectorSettings } from '../../cluster/injector/injector-settings.ts'
import { parseInjectorSettings, SettingsError } from '../../cluster/injector/parse-settings.ts'
import { NO_FILE, readBounded } from '../../base/small-file.ts'
import { assertShallow } from '../../base/yaml/yaml-depth.ts'
import { UsageError } from '../flags/usage-error.ts'

/** The settings of the injector from a file, or the usual ones without one. */
export function readInjectorSettings(file: string | undefined, version: string): InjectorSettings {
  try {
    return parseInjectorSettings(file === undefined ? {} : readYaml(file), version)
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    const from = file === undefined ? '' : `--settings: ${quoted(file)}: `
    throw new UsageError('BAD_FILE', `${from}${error.message}`, 'fix the settings')
  }
}

function readYaml(file: string): unknown {
  let text: string
  try {
    text = readBounded(file).toString('utf8')
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? NO_FILE
    throw new UsageError(
      'BAD_FILE',
      `--settings: ${quoted(file)} cannot be read (${reason})`,
      'check the path and its permissions',
    )
  }
  try {
    assertShallow(text)
    return parse(text, { maxAliasCount: 20, logLevel: 'error' }) as unknown
  } catch (error) {
    const [why = ''] = (error as Error).message.split('\n')
    throw new UsageError('BAD_FILE', `--settings: ${quoted(file)} is no YAML: ${why}`, 'fix it')
  }
}
