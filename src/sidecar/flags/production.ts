import { readFileSync } from 'node:fs'
import { quoted } from '../../base/text/foreign-text.ts'
import {
  findProduction,
  type SourcedName,
  PRODUCTION_NAMES,
  type ProductionCheck,
  productionPatternProblem,
  productionText,
} from '../../rules/guard/production-names.ts'
import { type Environment, type FlagInput, group, type Values } from '../../base/flags/flag.ts'
import { asGiven, asText, many, one, toggle } from '../../base/flags/kinds.ts'
import { invalidOption, UsageError } from '../../base/flags/usage-error.ts'

const MAX_PATTERNS = 100
const NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace'

/** Declares the option for the names that mean production. */
export function productionNamesFlag(title: string) {
  return group(title, {
    productionNames: many(
      'patterns',
      `globs for words that mark a name as production; ! excludes matches, and the last matching glob wins (default: ${PRODUCTION_NAMES.join(',')})`,
      parseProductionNames,
    ),
  })
}

/** Declares the option for the label of a namespace that names its environment. */
export function environmentLabelFlag(title: string) {
  return group(title, {
    environmentLabel: one(
      'key',
      'namespace label that names the environment, if labels can be read',
      asText,
      { default: 'environment' },
    ),
  })
}

/** Declares the options of commands that act on another machine, about its environment. */
export function productionFlags(title: string) {
  return {
    ...group(title, {
      environment: one(
        'name',
        'environment of the target, such as staging; ENVIRONMENT also counts, and NODE_ENV if neither is set',
        asGiven,
      ),
      allowProduction: toggle('continue even if a name indicates production'),
    }),
    ...productionNamesFlag(title),
  }
}

function parseProductionNames(given: readonly FlagInput[]): readonly string[] {
  if (given.length === 0) return PRODUCTION_NAMES
  const patterns = given.flatMap(({ text, source }) =>
    text.split(',').map((part) => {
      const pattern = part.trim()
      const fix = productionPatternProblem(pattern)
      if (fix === undefined) return pattern
      throw invalidOption(source, `invalid pattern ${quoted(part)}`, fix)
    }),
  )
  if (patterns.length <= MAX_PATTERNS) return patterns
  throw invalidOption('--production-names', 'too many', `use at most ${MAX_PATTERNS}`)
}

/**
 * Returns the names of the environment that this process runs in. Most images of Node set
 * NODE_ENV=production wherever they run, so NODE_ENV counts only where nothing else names an
 * environment.
 */
export function environmentNames(
  stated: SourcedName | undefined,
  env: Environment,
): readonly SourcedName[] {
  const own = env['ENVIRONMENT'] === '' ? undefined : env['ENVIRONMENT']
  const names: SourcedName[] = [
    ...(stated === undefined ? [] : [stated]),
    { where: 'ENVIRONMENT', name: own },
  ]
  if (stated !== undefined || own !== undefined) return names
  return [{ where: 'NODE_ENV', name: env['NODE_ENV'] }]
}

/** Returns the production check of a command; undefined where production is allowed. */
export function productionOf(
  flags: Values<ReturnType<typeof productionFlags>>,
  env: Environment,
): ProductionCheck | undefined {
  if (flags.allowProduction) return undefined
  return {
    patterns: flags.productionNames,
    names: environmentNames(placed(flags.environment), env),
  }
}

/** Returns the name that an option states, with its place for messages. */
export function placed(given: FlagInput | undefined): SourcedName | undefined {
  return given && { where: given.source, name: given.text }
}

/** Throws a `UsageError` where a name means production. */
export function rejectProduction(
  check: ProductionCheck | undefined,
  names: readonly SourcedName[],
): void {
  if (check === undefined) return
  const found = findProduction([...check.names, ...names], check.patterns)
  if (found === undefined) return
  const otherwise =
    found.where === 'NODE_ENV'
      ? 'name the environment with --environment staging'
      : 'choose another target, correct the name, or set the production names with --production-names'
  throw new UsageError(
    'PRODUCTION',
    productionText(found),
    `${otherwise}; --allow-production continues anyway`,
  )
}

/** Returns the namespace of this pod, where the environment or the service account names it. */
export function ownNamespace(env: Environment, file = NAMESPACE_FILE): SourcedName {
  const isPod = env['KUBERNETES_SERVICE_HOST'] !== undefined
  const name = env['POD_NAMESPACE'] ?? (isPod ? firstLine(file) : undefined)
  return { where: 'the namespace of this pod', name }
}

function firstLine(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').slice(0, 253).trim()
  } catch {
    // Outside of a pod, or without a service account.
    return undefined
  }
}
