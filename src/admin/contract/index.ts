export {
  CallFilterError,
  parseAgentsFilter,
  parseCallFilter,
  parseVerdictFilter,
} from './filters.ts'
export {
  AdminError,
  adminProblem,
  askAdmin,
  checkResponse,
  MAX_BYTES,
  openEvents,
  PASS_ADMIN_PORT,
  PATIENCE_MS,
  problemText,
  readResponse,
  type SidecarAdmin,
} from './api-client.ts'
export {
  type Agents,
  API,
  type Endpoint,
  type ErrorKind,
  type Faults,
  type Finding,
  type History,
  isError,
  type Problem,
  type Reload,
  type ResponseOf,
  type Rule,
  type State,
  type TappedCall,
  type Tasks,
  type VerdictLine,
} from './api.ts'
export { type AdminEndpoint, endpointText } from './endpoint.ts'
export { type Guard, originGuard, type ReadAccess, readGuard } from '../guards.ts'
export { sharedFile } from '../page-files.ts'
export { createAdmin, endServer } from '../server.ts'
