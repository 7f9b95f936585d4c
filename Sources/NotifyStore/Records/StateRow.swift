import NotifySystem
import NotifyWire

/// The state of the log as stored in the database, in one row.
struct StateRow: Equatable {
    /// The end of the reserved sequences, exclusive. After a crash, sequences continue here if the ``SequenceMark`` is
    /// lost.
    var reservedThrough: UInt64 = 1
    /// The next sequence, if the log was closed cleanly.
    var nextSequence: UInt64 = 1
    var nextSubscription: UInt64 = 1
    /// Whether the log was closed cleanly.
    var isClean = true
    /// Incremented to make a transaction write a page even if nothing else changes.
    var flushes: UInt64 = 0
    /// The random id that the log got when it was created.
    var logID: [UInt8] = []
    /// Names with lower ids may have been removed, so a start gives new names ids from this one on.
    var nextName: UInt64 = 1
    /// The log's time and the machine's clocks, in microseconds.
    var logTime: UInt64 = 0
    var sinceBoot: UInt64 = 0
    var wallTime: UInt64 = 0
    var bootID = ""
    /// A random number that changes when a backup replaces the log.
    var epoch: UInt64 = 0
    /// The highest sequence of a deleted mark of a cleared value: which values were cleared up to it is unknown.
    var forgottenThrough: UInt64 = 0

    /// The columns of the row, in the order in which `init` reads them.
    static let columns = """
        reserved_through, next_sequence, next_subscription, clean, flushes, log_id, next_name, log_time, since_boot,
        wall_time, boot_id, epoch, crc, forgotten_through
        """
    static let update = """
        UPDATE state SET reserved_through = ?, next_sequence = ?, next_subscription = ?, clean = ?, flushes = ?,
            log_id = coalesce(?, x''), next_name = ?, log_time = ?, since_boot = ?, wall_time = ?,
            boot_id = coalesce(?, ''), epoch = ?, crc = ?,
            forgotten_through = ?
        """

    init() {}

    /// Reads the current row of a statement that selects ``columns``, even if the row is damaged.
    init(unchecked row: PreparedStatement) {
        reservedThrough = row.integer(0)
        nextSequence = row.integer(1)
        nextSubscription = row.integer(2)
        isClean = row.integer(3) != 0
        flushes = row.integer(4)
        logID = row.blob(5)
        nextName = row.integer(6)
        logTime = row.integer(7)
        sinceBoot = row.integer(8)
        wallTime = row.integer(9)
        bootID = row.text(10)
        epoch = row.integer(11)
        forgottenThrough = row.integer(13)
    }

    /// Reads the current row of a statement that selects ``columns``. Returns nil if the row is damaged.
    init?(_ row: PreparedStatement) {
        self.init(unchecked: row)
        guard row.integer32(12) == checksum, row.integer(3) <= 1, isInRange else { return nil }
    }

    private var isInRange: Bool {
        max(reservedThrough, nextSequence, forgottenThrough) <= Limits.sequenceEnd
            && [logTime, sinceBoot, wallTime].allSatisfy(StoredTime.isSoundClock)
    }

    func write(with update: PreparedStatement) throws {
        for (index, value) in [
            (1, reservedThrough), (2, nextSequence), (3, nextSubscription), (4, isClean ? 1 : 0), (5, flushes),
            (7, nextName), (8, logTime), (9, sinceBoot), (10, wallTime), (12, epoch), (13, UInt64(checksum)),
            (14, forgottenThrough),
        ] as [(Int32, UInt64)] {
            try update.bind(index, value)
        }
        try update.bindText(11, copying: bootID)
        try logID.withUnsafeBytes { logID in
            defer { update.clearBindings() }
            try update.bindBlob(6, logID)
            try update.run()
        }
    }

    var checksum: UInt32 {
        var checksum = Checksum()
        for number in [
            reservedThrough, nextSequence, nextSubscription, isClean ? 1 : 0, flushes, nextName, logTime, sinceBoot,
            wallTime, epoch,
        ] {
            checksum.add(number)
        }
        logID.withUnsafeBytes { checksum.add($0) }
        checksum.add(bootID)
        // A row that was migrated has no mark, and the checksum of an earlier version, which did not cover marks.
        if forgottenThrough > 0 { checksum.add(forgottenThrough) }
        return checksum.value
    }
}

extension StateRow {
    var clock: LogClock.Mark {
        get {
            LogClock.Mark(
                time: .microseconds(Int64(bitPattern: logTime)), sinceBoot: .microseconds(Int64(bitPattern: sinceBoot)),
                wall: .microseconds(Int64(bitPattern: wallTime)), bootID: bootID)
        }
        set {
            logTime = UInt64(bitPattern: newValue.time.microseconds)
            sinceBoot = UInt64(bitPattern: newValue.sinceBoot.microseconds)
            wallTime = UInt64(bitPattern: newValue.wall.microseconds)
            bootID = newValue.bootID
        }
    }
}

extension StateRow {
    /// Reads the state of the log in a database.
    ///
    /// - Throws: `damaged` if the row is missing or damaged.
    init(in connection: DatabaseConnection) throws {
        let row = try PreparedStatement(connection, "SELECT \(StateRow.columns) FROM state")
        guard try row.step(), let read = StateRow(row) else {
            throw StoreError(.damaged, "the row of the log's state is missing or damaged")
        }
        self = read
    }
}
