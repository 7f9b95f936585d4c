import ArgumentParser
import NotifyClient

/// Where a durable subscription begins, as an argument.
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
