import { quoted } from '../../base/text/foreign-text.ts'
import { CATALOG } from '../../lab/experiment/catalog.ts'
import { nearestName } from '../../base/nearest-name.ts'
import { UsageError } from '../flags/usage-error.ts'

/** Lists the ready plans, or prints one. */
export function showCatalog(
  name: string | undefined,
  write: (text: string) => void = (text) => void process.stdout.write(text),
): number {
  if (name === undefined) {
    for (const { name: each, about } of CATALOG) write(`${each.padEnd(20)}${about}\n`)
    return 0
  }
  const names = CATALOG.map((each) => each.name)
  const found = CATALOG.find((each) => each.name === name)
  if (found !== undefined) {
    write(found.text)
    return 0
  }
  const near = nearestName(name, names)
  throw new UsageError(
    'BAD_VALUE',
    `there is no plan ${quoted(name)}`,
    near === undefined ? `there are ${names.join(', ')}` : `did you mean ${near}?`,
  )
}
