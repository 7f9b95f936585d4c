import Foundation
import NotifyCenter

/// The cost of beginning and of ending an observation.
func registeringCases() -> [Case] {
    [1, 1_000].flatMap { count in
        let names = (0..<count).map { "orders.created.in.region.\($0)" }
        let title = count == 1 ? "60000 of one name" : "60000 of \(count) names"
        return [
            Case("add \(title)", .atMost(1)) { try registering(names, measuring: \.adding) },
            Case("remove \(title)", .atMost(1)) { try registering(names, measuring: \.removing) },
        ]
    }
}

private struct Times {
    var adding = 0.0
    var removing = 0.0
}

private func registering(_ texts: [String], measuring figure: KeyPath<Times, Double>) throws -> (Contender, Contender) {
    let count = 60_000
    let tally = Tally()
    let center = LocalCenter()
    let foundationCenter = NotificationCenter()
    let names = try texts.map { try NotificationName($0) }
    let foundationNames = texts.map { Notification.Name($0) }
    return (
        {
            var tokens: [ObservationToken] = []
            tokens.reserveCapacity(count)
            var times = Times()
            times.adding = processorTime {
                for index in 0..<count {
                    tokens.append(center.observe(names[index % names.count]) { _ in tally.add() })
                }
            }
            times.removing = processorTime {
                for token in tokens { token.cancel() }
                tokens = []
            }
            return times[keyPath: figure] / Double(count)
        },
        {
            var tokens: [any NSObjectProtocol] = []
            tokens.reserveCapacity(count)
            var times = Times()
            times.adding = processorTime {
                for index in 0..<count {
                    let name = foundationNames[index % foundationNames.count]
                    tokens.append(
                        foundationCenter.addObserver(forName: name, object: nil, queue: nil) { _ in tally.add() })
                }
            }
            times.removing = processorTime {
                for token in tokens { foundationCenter.removeObserver(token) }
                tokens = []
            }
            return times[keyPath: figure] / Double(count)
        }
    )
}
