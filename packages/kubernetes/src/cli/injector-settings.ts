import { parse } from 'yaml'
import { quoted, readVersion } from '#base'
import { assertShallow } from '../kube/yaml-depth.ts'
import { parseInjectorSettings, SettingsError } from '../injector/parse-settings.ts'
import type { InjectorSettings } from '../injector/settings-schema.ts'
import { invalidFile, readText } from '#cli'

const MAX_SETTINGS = 2 ** 20

/**
 * Reads the settings of the injector; without a file, returns the defaults. `image` replaces that
 * of the file.
 */
export async function readInjectorSettings(
  file: string | undefined,
  image?: string,
): Promise<InjectorSettings> {
  const label = file === undefined ? 'settings' : `--settings: ${quoted(file)}`
  const given = file === undefined ? {} : await readYaml(file, label)
  try {
    return parseInjectorSettings(image === undefined ? given : { ...given, image }, readVersion())
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    throw invalidFile(`${label}: ${error.message}`, 'see docs/concepts/injection.md')
  }
}

async function readYaml(file: string, label: string): Promise<object> {
  const text = await readText(file, MAX_SETTINGS, label)
  try {
    assertShallow(text)
    return (parse(text, { maxAliasCount: 20, logLevel: 'error' }) ?? {}) as object
  } catch (error) {
    const [reason = ''] = (error as Error).message.split('\n')
    throw invalidFile(`${label} is not valid YAML: ${reason}`, 'fix the syntax')
  }
}
