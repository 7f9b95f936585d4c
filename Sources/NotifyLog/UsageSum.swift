import NotifyWire

/// The usage of each user, summed over a set of messages. Adding a message of the same user as the previous message
/// needs no lookup.
package struct UsageSum {
    private var earlier: [UInt32: StoredUsage] = [:]
    /// The user of the latest messages, and their usage, which is not in `earlier`.
    private var uid: UInt32 = 0
    private var run = StoredUsage()

    package init() {}

    /// Adds a message.
    package mutating func add(_ usage: StoredUsage, of uid: UInt32) {
        if uid != self.uid {
            endRun()
            self.uid = uid
        }
        run += usage
    }

    /// Adds all messages of a block.
    package mutating func add(_ block: LogBlock) {
        for entry in block.entries {
            block.withMessage(entry) { message in
                add(StoredUsage(bytes: Int(entry.length), name: message.parts.name), of: message.stamp.uid)
            }
        }
    }

    package mutating func add(_ other: UsageSum) {
        endRun()
        for (uid, usage) in other.byUser { earlier[uid, default: StoredUsage()] += usage }
    }

    private mutating func endRun() {
        guard run.messages > 0 else { return }
        earlier[uid, default: StoredUsage()] += run
        run = StoredUsage()
    }

    /// The usage of each user that has any.
    package var byUser: [UInt32: StoredUsage] {
        var sum = self
        sum.endRun()
        return sum.earlier
    }
}
