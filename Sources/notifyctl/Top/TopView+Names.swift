import NotifyClient

extension TopView {
    /// The names of current posts.
    static let names = TopView(
        "names", key: "n",
        columns: [
            .text("NAME"), .number("POSTS/S"), .number("BYTES/S"), .number("DROPPED/S"), .number("SUBSCRIBERS"),
            .number("DURABLES").wide,
        ],
        sortedBy: "POSTS/S",
        // The daemon stops counting after 10 seconds without a request.
        longestInterval: .seconds(9)
    ) { rows(of: try await $0.administration.names()) }

    static func rows(of names: [Administration.NameStatus]) -> [TopRow] {
        names.map { name in
            TopRow(
                id: name.name,
                cells: [
                    .text(name.name), .total(name.posts), .total(name.payloadBytes), .total(name.dropped),
                    .number(UInt64(name.subscribers)), .number(UInt64(name.durableSubscriptions)),
                ],
                startsAtZero: true)
        }
    }
}
