export { canonicalJson, MAX_CANONICAL_DEPTH, sameJson } from '../mcp/canonical-json.ts'
