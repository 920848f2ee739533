import { readFileSync } from 'node:fs'
import { quoted } from '../../base/text/foreign-text.ts'
import {
  findProduction,
  type PlacedName,
  PRODUCTION_NAMES,
  type ProductionCheck,
  productionPatternProblem,
  productionText,
} from '../../rules/guard/production-names.ts'
import { flagGroup, type Environment, type FlagValues } from './flag-values.ts'
import { UsageError } from './usage-error.ts'

const MAX_PATTERNS = 100
const NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace'

/** The option that says which names mean production. */
export function productionNamesFlag(group: string) {
  return flagGroup(group, {
    'production-names': [
      'patterns',
      `words in names that mean production, as globs; ! excludes, and the last that matches decides (default: ${PRODUCTION_NAMES.join(',')})`,
      { repeatable: true },
    ],
  })
}

/** The options of commands that act somewhere else, about where they act. */
export function productionFlags(group: string) {
  return [
    ...flagGroup(group, {
      environment: ['name', 'what is acted on, such as staging (default: ENVIRONMENT or NODE_ENV)'],
      'allow-production': 'go on although a name means production',
    }),
    ...productionNamesFlag(group),
  ]
}

/** Checks which names mean production. */
export function parseProductionNames(flags: FlagValues<'production-names'>): readonly string[] {
  const given = flags.all('production-names')
  if (given.length === 0) return PRODUCTION_NAMES
  const patterns = given.flatMap(({ text, source }) =>
    text.split(',').map((part) => {
      const pattern = part.trim()
      const fix = productionPatternProblem(pattern)
      if (fix === undefined) return pattern
      throw new UsageError('BAD_VALUE', `${source}: ${quoted(part)} is no pattern`, fix)
    }),
  )
  if (patterns.length <= MAX_PATTERNS) return patterns
  throw new UsageError('BAD_VALUE', '--production-names: too many', `use at most ${MAX_PATTERNS}`)
}

/**
 * Returns what says in which environment this is. Most images of Node set NODE_ENV=production
 * wherever they run, so that it counts only where nothing else names an environment.
 */
export function environmentNames(
  stated: PlacedName | undefined,
  env: Environment,
): readonly PlacedName[] {
  const own = env['ENVIRONMENT'] === '' ? undefined : env['ENVIRONMENT']
  const names: PlacedName[] = [
    ...(stated === undefined ? [] : [stated]),
    { where: 'ENVIRONMENT', name: own },
  ]
  if (stated !== undefined || own !== undefined) return names
  return [{ where: 'NODE_ENV', name: env['NODE_ENV'] }]
}

/** Returns what a command that acts somewhere else has to look at; undefined where all is allowed. */
export function parseProduction(
  flags: FlagValues<'environment' | 'allow-production' | 'production-names'>,
  env: Environment,
): ProductionCheck | undefined {
  const patterns = parseProductionNames(flags)
  if (flags.switch('allow-production')) return undefined
  const given = flags.optional('environment')
  const stated = given && { where: given.source, name: given.text }
  return { patterns, places: environmentNames(stated, env) }
}

/** Refuses to act on production. Throws a `UsageError`. */
export function refuseProduction(
  check: ProductionCheck | undefined,
  places: readonly PlacedName[],
): void {
  if (check === undefined) return
  const found = findProduction([...check.places, ...places], check.patterns)
  if (found === undefined) return
  const otherwise =
    found.where === 'NODE_ENV'
      ? 'name the environment by --environment staging'
      : 'choose another target, correct the name, or say by --production-names which names count'
  throw new UsageError(
    'PRODUCTION',
    productionText(found),
    `${otherwise}; --allow-production goes on all the same`,
  )
}

/** Returns the namespace that this runs in, when the environment names it. */
export function ownNamespace(env: Environment, file = NAMESPACE_FILE): PlacedName {
  const isPod = env['KUBERNETES_SERVICE_HOST'] !== undefined
  const name = env['POD_NAMESPACE'] ?? (isPod ? firstLine(file) : undefined)
  return { where: 'the namespace of this pod', name }
}

function firstLine(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').slice(0, 253).trim()
  } catch {
    // No pod, or one without a service account.
    return undefined
  }
}
