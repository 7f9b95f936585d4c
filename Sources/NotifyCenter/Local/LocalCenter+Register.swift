extension LocalCenter {
    /// Creates and registers an observer.
    @discardableResult
    func register(
        _ names: ObservedNames, object: NotificationObject?, owner: Receiver.Owner? = nil,
        options: ObservationOptions = ObservationOptions(), place: SourcePlace, receiver: Receiver
    ) -> ObservationHandle {
        let observer = Observer(
            names: names, object: object, owner: owner, options: options, place: place, receiver: receiver)
        return register(observer, object: object, owner: owner)
    }

    /// Registers an observer. The observer receives every matching post that begins after this method returns.
    private func register(
        _ observer: Observer, object: NotificationObject?, owner: Receiver.Owner?
    ) -> ObservationHandle {
        // Work outside the lock: calls of observers, and releases of references whose deinitializers may call the
        // center.
        var deferred = DeferredWork()
        state.withLock { state in state.register(observer, object: object, owner: owner, cache: cache, &deferred) }
        // Posts in progress do not reach the new observer, so they still call the replaced one if it has no buffer.
        if deferred.replaced?.buffersPosts == true { deferred.replaced?.end() }
        if let others = deferred.others { finish(others, for: observer) }
        return ObservationHandle(center: self, registration: observer.registration, slot: observer.slot)
    }

    private func finish(_ others: DeferredWork.Others, for observer: Observer) {
        // A value that is no longer kept may have been replaced by a newer one, which reached the observer as a post.
        // The older one must not follow it.
        for entry in others.values where state.withLock({ $0.values.contains(entry) }) {
            observer.deliver(entry.notification, in: self)
        }
        for observer in others.ofReleasedOwner { end(observer) }
        if let earlier = others.earlier { reportIfRepeated(observer, earlier) }
        if others.isPruningDue { endOrphans() }
    }

    private func reportIfRepeated(_ observer: Observer, _ earlier: Observer) {
        guard RepeatedObservation.isRepetition(observer, of: earlier), let place = observer.repetitionHash,
            let owner = observer.ownerIdentifier
        else { return }
        let isNew = state.withLock { $0.owners.markReported(place, of: owner) }
        if isNew, let repeated = RepeatedObservation(observer) { hooks.repeated(repeated) }
    }

    /// Work to do after the lock is released.
    struct DeferredWork {
        /// Work that only few registrations need.
        struct Others {
            var values: [KeptValues.Entry] = []
            var ofReleasedOwner: [Observer] = []
            /// An earlier observer of the owner, which the new one may repeat.
            var earlier: Observer?
            var isPruningDue = false
        }

        /// The earlier observation with the same key, which the new observation replaces.
        var replaced: Observer?
        var dropped = PostTable.Dropped()
        var others: Others?
    }
}

extension LocalCenter.State {
    fileprivate mutating func register(
        _ observer: Observer, object: NotificationObject?, owner: Receiver.Owner?, cache: borrowing PostCache,
        _ deferred: inout LocalCenter.DeferredWork
    ) {
        let slot = Int32(observers.nextID.index)
        observer.registered(registration: core.add(observer, slot: slot), slot: slot)
        observers.insert(observer)
        cache.drop(observer.names, object: observer.objectKey, into: &deferred.dropped)
        if let key = observer.options.key {
            let key = LocalCenter.ObservationKey(owner: observer.ownerIdentifier, key: key)
            if let earlier = keys.updateValue(slot, forKey: key) {
                deferred.replaced = remove(earlier, cache: cache, &deferred.dropped)
            }
        }
        if !values.isEmpty && observer.options.valueLimit > 0 {
            deferred.others = .init(
                values: values.matching(
                    observer.names, object: object, limit: observer.options.valueLimit))
        }
        if let owner { add(observer, of: owner, &deferred) }
        additionsUntilPruning -= 1
        if additionsUntilPruning <= 0 && observer.canBeOrphaned {
            deferred.others = deferred.others ?? .init()
            deferred.others?.isPruningDue = true
        }
    }

    private mutating func add(
        _ observer: Observer, of owner: Receiver.Owner, _ deferred: inout LocalCenter.DeferredWork
    ) {
        let id = ObjectIdentifier(owner)
        if let first = owners.first(of: id), observers.value(at: Int(first))?.isOwned(by: owner) == false {
            // The earlier owner was released, and the new owner has the same address.
            deferred.others = deferred.others ?? .init()
            deferred.others?.ofReleasedOwner = owners.all(of: id).compactMap { observers.value(at: Int($0)) }
            owners.removeAll(of: id)
        }
        if let earlier = owners.add(observer.slot, to: id, place: observer.repetitionHash) {
            deferred.others = deferred.others ?? .init()
            deferred.others?.earlier = observers.value(at: Int(earlier))
        }
    }

    /// Removes an observer from all indexes.
    fileprivate mutating func remove(
        _ slot: Int32, cache: borrowing PostCache, _ dropped: inout PostTable.Dropped
    ) -> Observer? {
        guard let observer = observers.remove(at: Int(slot)) else { return nil }
        _ = core.remove(observer.registration)
        cache.drop(observer.names, object: observer.objectKey, into: &dropped)
        if observer.isOwned { owners.remove(slot) }
        if let key = observer.options.key {
            let key = LocalCenter.ObservationKey(owner: observer.ownerIdentifier, key: key)
            if keys[key] == slot { keys[key] = nil }
        }
        return observer
    }
}

extension CenterCore {
    fileprivate mutating func add(_ observer: Observer, slot: Int32) -> UInt64 {
        guard let object = observer.objectKey else { return add(observer, object: nil, slot: slot) }
        return object.withBytes { add(observer, object: $0, slot: slot) }
    }

    private mutating func add(_ observer: Observer, object: UnsafeRawBufferPointer?, slot: Int32) -> UInt64 {
        let priority = observer.options.priority
        return switch observer.names.kind {
        case .name(let name): add(name: name, objectBytes: object, priority: priority, slot: slot)
        case .patterns(let patterns): add(patterns: patterns, objectBytes: object, priority: priority, slot: slot)
        }
    }
}

// MARK: - Removing

extension LocalCenter {
    /// Ends an observation, unless it has ended.
    func end(_ registration: UInt64, slot: Int32) {
        var dropped = PostTable.Dropped()
        let observer = state.withLock { state -> Observer? in
            guard state.observers.value(at: Int(slot))?.registration == registration else { return nil }
            return state.remove(slot, cache: cache, &dropped)
        }
        observer?.end()
        // Released outside the lock: deinitializers of a closure's captures may call the center.
        withExtendedLifetime((observer, dropped)) {}
    }

    func end(_ observer: Observer) {
        end(observer.registration, slot: observer.slot)
    }

    /// Ends the observations of an owner. No call begins after this returns, except one on another thread that has just
    /// found the observation active. A call in progress on another thread continues.
    ///
    /// - Parameters:
    ///   - owner: The owner of the observations.
    ///   - object: If not nil, only observations of an equal object end.
    public func removeObservations(of owner: some AnyObject, object: NotificationObject? = nil) {
        removeObservations(of: owner, observing: nil, object: object)
    }

    /// Ends the observations of an owner that were made with these names. No call begins after this returns, except one
    /// on another thread that has just found the observation active. A call in progress on another thread continues.
    ///
    /// - Parameters:
    ///   - owner: The owner of the observations.
    ///   - names: The names of the observations. A pattern matches only observations of an equal pattern.
    ///   - object: If not nil, only observations of an equal object end.
    /// - Throws: ``NameError`` if a string is not a valid name or pattern. Names and patterns that are already checked
    ///   never throw.
    public func removeObservations<Names: NotificationNames>(
        of owner: some AnyObject, names: Names, object: NotificationObject? = nil
    ) throws(Names.Failure) {
        removeObservations(of: owner, observing: try names.observedNames, object: object)
    }

    /// Ends the observations of an owner with these names and this object; nil matches any.
    package func removeObservations(
        of owner: some AnyObject, observing names: ObservedNames?, object: NotificationObject?
    ) {
        let owned = state.withLock { state in
            state.owners.all(of: ObjectIdentifier(owner)).compactMap { state.observers.value(at: Int($0)) }
        }
        for observer in owned where observer.observes(names, object: object) { end(observer) }
    }

    /// Ends all observations.
    public func removeAllObservations() {
        let all = state.withLock { Array($0.observers.values) }
        for observer in all { end(observer) }
    }

    /// Ends the observations whose owner or instance was released. The next matching post would also end such an
    /// observation, but there may be no such post. Registering an observer that can be orphaned calls this if, since
    /// the last call, at least as many observers were added as there were then, and at least 32. So the average cost of
    /// an addition is constant.
    func endOrphans() {
        let candidates = state.withLock { state in
            state.additionsUntilPruning = max(Self.smallestPruningInterval, state.core.registrationCount)
            return state.observers.values.filter(\.canBeOrphaned)
        }
        // Outside the lock: reading the owner may release its last reference.
        for observer in candidates where observer.isOrphaned { end(observer) }
    }
}
