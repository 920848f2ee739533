export { forChangedBody } from '../../mcp/changed-body.ts'
