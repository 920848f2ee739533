import { PRODUCTION_NAMES, type SchemaNode } from '#rules'
import { ANNOTATIONS } from './annotations.ts'
import { RULES_CONFIG_MAP } from './injected-names.ts'

const PORT = { type: 'integer', minimum: 1024, maximum: 65_535 } as const
const TEXT = { type: 'string' } as const
const TEXTS = { type: 'array', maxItems: 256, items: { type: 'string', minLength: 1 } } as const

/** Annotations that may have a default for every pod. */
const DEFAULTS = ANNOTATIONS.filter(
  ({ key, targets }) => key !== 'allow-production' && targets.includes('namespace'),
)

/** The schema of the injector's settings file. */
export const SETTINGS_SCHEMA: SchemaNode = {
  type: 'object',
  additionalProperties: false,
  properties: {
    image: TEXT,
    imagePullPolicy: { type: 'string', enum: ['Always', 'IfNotPresent', 'Never'] },
    allowedImages: { ...TEXTS, default: [] },
    prefix: { ...TEXT, default: 'squall.dev/' },
    adminPort: { ...PORT, default: 15_390 },
    firstListenPort: { ...PORT, default: 15_300 },
    user: { type: 'integer', minimum: 1, maximum: 2 ** 31 - 1, default: 65_532 },
    resources: {
      type: 'object',
      additionalProperties: false,
      properties: {
        cpuRequest: { ...TEXT, default: '10m' },
        cpuLimit: { ...TEXT, default: '1' },
        memoryRequest: { ...TEXT, default: '32Mi' },
        memoryLimit: { ...TEXT, default: '256Mi' },
      },
      default: {},
    },
    rules: { ...TEXT, default: RULES_CONFIG_MAP },
    adminSecret: { ...TEXT, default: 'squall-admin' },
    environmentLabel: { ...TEXT, default: 'environment' },
    productionEnvironments: { ...TEXTS, default: PRODUCTION_NAMES },
    productionAction: { type: 'string', enum: ['refuse', 'ignore', 'allow'], default: 'refuse' },
    excludedNamespaces: { ...TEXTS, default: ['kube-system', 'kube-node-lease', 'kube-public'] },
    scrapeAnnotations: { type: 'boolean', default: true },
    defaults: {
      type: 'object',
      additionalProperties: false,
      properties: Object.fromEntries(DEFAULTS.map(({ key }) => [key, TEXT])),
      default: {},
    },
  },
}
