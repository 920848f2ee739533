import { expect, it } from 'vitest'
import {
  findProduction,
  productionPattern,
  productionPatternProblem,
  productionText,
  urlNames,
} from '../../../src/rules/guard/production-names.ts'

it.each(
  [
    ['prod', 'PROD', 'Prod', 'production', 'PRODUCTION', 'Production', ' production\n'],
    ['prd', 'PRD', 'live', 'LIVE', 'shop-prod', 'prod-eu-1', 'eu-west-1-prd', 'shop_live'],
    ['prod1', 'prod01-eu', 'eu1prod2', 'prodeu', 'euprod', 'production2', 'shop.production.eu'],
    ['shopProd', 'ProdEU', 'shopPRODUCTION', 'team/prod', 'mcp.shop-prod.svc.cluster.local'],
    // In doubt it is production: a copy may hold real data, and an option of Squall can say
    // otherwise.
    ['prod-copy', 'test-prod', 'go-live', 'no-prod', 'non-prod-and-prod', 'mcp.live'],
  ].flat(),
)('%j is production', (name) => {
  expect(productionPattern(name)).toBeDefined()
})

it.each(
  [
    ['staging', 'test', 'dev', 'qa', '', '-', '10.0.0.1', 'shop'],
    ['product', 'product-catalog', 'products', 'producer', 'productivity', 'prodigy'],
    ['delivery', 'olive', 'liveness', 'livestream', 'alive', 'delivered'],
    ['non-prod', 'nonprod', 'non_prod', 'NonProd', 'not-production', 'pre-prod', 'preprod'],
    ['pre-production', 'preproduction', 'PreProd', 'shop-nonprod-eu', 'nonproduction', 'pre-live'],
    ['reproduction', 'reprod', 'coproduction', 'team/a'],
  ].flat(),
)('%j is not production', (name) => {
  expect(productionPattern(name)).toBeUndefined()
})

it('goes by the last pattern that matches a word, and by patterns of whole names first', () => {
  const kund = ['kund*', '!kundtest', 'prod', '!prod-test', 'shop-*-blue']
  expect(productionPattern('shop-kund', kund)).toBe('kund*')
  expect(productionPattern('shop-kundtest', kund)).toBeUndefined()
  expect(productionPattern('PROD', kund)).toBe('prod')
  expect(productionPattern('Prod-Test', kund)).toBeUndefined()
  expect(productionPattern('shop-eu-blue', kund)).toBe('shop-*-blue')
  expect(productionPattern('live', kund)).toBeUndefined()
  expect(productionPattern('production', [])).toBeUndefined()
})

it('reports the first match, the name and the pattern', () => {
  const found = findProduction([
    { where: '--environment', name: undefined },
    { where: 'ENVIRONMENT', name: 'staging' },
    ...urlNames('--target', new URL('https://id.example.com/Prod/mcp?prod')),
    { where: 'NODE_ENV', name: 'production' },
  ])
  expect(found && productionText(found)).toBe(
    'the path of --target, "/Prod/mcp" counts as production (it matches prod*)',
  )
})

it('takes no time for a name that is none, and shows it short and without control characters', () => {
  const began = performance.now()
  const name = `prod\u001b[2J\u202e${'pro'.repeat(1_000_000)}`
  const found = findProduction([{ where: 'ENVIRONMENT', name }])
  expect(performance.now() - began).toBeLessThan(1_000)
  expect(productionText(found!)).toMatch(/^[\u0020-\u007e…]{1,200}$/)
})

it.each(['', '!', '*', 'a b', 'prod;', 'x'.repeat(600)])('refuses the pattern %j', (pattern) => {
  expect(productionPatternProblem(pattern)).toContain('prod*')
})
