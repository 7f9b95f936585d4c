import ArgumentParser
import NotifyClient

/// The argument for where a durable subscription begins.
enum DurableStart: String, ExpressibleByArgument, CaseIterable {
    case now
    case oldest

    var start: NotifyClient.Start {
        switch self {
        case .now: .now
        case .oldest: .oldest
        }
    }
}
