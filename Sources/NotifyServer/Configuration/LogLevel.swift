package import Logging

/// The least severe level that is logged.
package enum LogLevel: String, Sendable, CaseIterable {
    case trace, debug, info, notice, warning, error, critical

    package var loggerLevel: Logger.Level {
        switch self {
        case .trace: .trace
        case .debug: .debug
        case .info: .info
        case .notice: .notice
        case .warning: .warning
        case .error: .error
        case .critical: .critical
        }
    }

    /// The names of all levels, for error messages.
    package static let names = allCases.map(\.rawValue).joined(separator: ", ")
}
