/// A request for the number and bytes of the stored messages of each name.
package struct SummaryRequest: Sendable {
    /// The names. The object of the filter is not considered.
    package var filter: SubscriptionFilter
    /// The reader's rights. Names that the reader may not receive are left out.
    package var access: ReadAccess
    /// The first and the last sequence of the range.
    package var first: UInt64
    package var last: UInt64
    /// The maximum number of names to return.
    package var maximumNames: Int

    package init(filter: SubscriptionFilter, access: ReadAccess, first: UInt64, last: UInt64, maximumNames: Int) {
        self.filter = filter
        self.access = access
        self.first = first
        self.last = last
        self.maximumNames = maximumNames
    }
}

/// The number and bytes of the stored messages of each name that match a request.
package struct LogSummary: Equatable, Sendable {
    /// The messages of a name, or of several names together.
    package struct Totals: Equatable, Sendable {
        package var messages: UInt64 = 0
        package var bytes: UInt64 = 0
        /// The sequence and the wall-clock time of the first message, in microseconds since 1970.
        package var first = UInt64.max
        package var firstTime: UInt64 = 0
        /// The sequence and the wall-clock time of the last message, in microseconds since 1970.
        package var last: UInt64 = 0
        package var lastTime: UInt64 = 0

        package init() {}

        /// Adds the messages of other names.
        package mutating func add(_ other: Totals) {
            messages += other.messages
            bytes += other.bytes
            if other.first < first { (first, firstTime) = (other.first, other.firstTime) }
            if other.last > last { (last, lastTime) = (other.last, other.lastTime) }
        }
    }

    package struct Name: Equatable, Sendable {
        package var name: [UInt8]
        package var totals: Totals

        package init(name: [UInt8], totals: Totals) {
            self.name = name
            self.totals = totals
        }
    }

    /// The names with the most bytes, in descending order.
    package var names: [Name] = []
    /// The other names together; nil if there are none.
    package var others: Totals?

    package init() {}
}
