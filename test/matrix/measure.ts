import { writeFile } from 'node:fs/promises'
import { pythonKind } from '../system/python-kind.ts'
import { MissingToolError, systemTool } from '../system/tools.ts'
import {
  type AnyClient,
  forgetMeasured,
  MEASURED_FILE,
  measuredText,
  readMeasured,
} from './measured.ts'
import { type Kind, measureCells } from './run-cells.ts'
import { sdkKind } from './sdk-kind.ts'
import { CLIENTS, clientsOf, PYTHON_SETTINGS, SETTINGS } from './settings.ts'
import { titleOf } from './variant.ts'
import { VARIANTS } from './variants.ts'

/**
 * Measures what no client was measured with, twice, and forgets what is no variant. Delete the file
 * to measure all. The client of the Python SDK is measured where it is installed.
 */
export async function measureMissing(): Promise<void> {
  const before = readMeasured()
  const clients: readonly AnyClient[] = [...CLIENTS, ...(hasPython() ? (['python'] as const) : [])]
  const measured = Object.fromEntries(
    VARIANTS.map((variant) => [titleOf(variant), before[titleOf(variant)] ?? {}]),
  )
  for (const client of clients) {
    const kind: Kind = client === 'python' ? pythonKind() : sdkKind(client)
    const settings =
      client === 'python'
        ? PYTHON_SETTINGS
        : SETTINGS.filter((setting) => clientsOf(setting).includes(client))
    for (const setting of settings) {
      const missing = VARIANTS.filter(
        (variant) => measured[titleOf(variant)]![setting.id]?.[client] === undefined,
      )
      if (missing.length === 0) continue
      for (const { variant, injected } of await measureCells(setting, kind, missing)) {
        const settingsOf = measured[titleOf(variant)]!
        settingsOf[setting.id] = { ...settingsOf[setting.id], [client]: injected }
      }
    }
  }
  await writeFile(MEASURED_FILE, measuredText(measured))
  forgetMeasured()
}

function hasPython(): boolean {
  try {
    systemTool('venv/bin/python', 'The Python SDK')
    return true
  } catch (error) {
    if (!(error instanceof MissingToolError)) throw error
    process.stderr.write(`${error.message}\nUntil then the matrix has no reports of that client.\n`)
    return false
  }
}
